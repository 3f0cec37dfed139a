//! The Copilot backend with the real CLI, which runs on a scripted provider on loopback.
