"""What happens to the store as a whole: exports, backups, and what goes with age."""
