// Ends before it joins.
throw new TypeError("no way to start");
