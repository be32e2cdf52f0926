package consent

// mayRun is true: nothing asks who descends from whom.
func mayRun(int) bool { return true }
