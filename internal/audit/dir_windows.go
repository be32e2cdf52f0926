package audit

import "os"

// othersWrite: the folder inherits the rights of the user's own.
func othersWrite(os.FileInfo) bool { return false }
