package consent

// mayRun returns true: nothing asks who descends from whom.
func mayRun(int) bool { return true }
