package consent

// mayWrite is true: access lists are not read.
func mayWrite(string) bool { return true }
