package audit

import "os"

// othersWrite is false: the folder inherits the rights of the user's own folder.
func othersWrite(os.FileInfo) bool { return false }
