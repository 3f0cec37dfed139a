// Never joins.
setInterval(() => {}, 1000);
