package consent

// mayWrite is true: access lists are not read.
func mayWrite(string) bool { return true }

// mayRun is true: nothing asks who descends from whom.
func mayRun(int) bool { return true }
