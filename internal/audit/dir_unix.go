//go:build unix

package audit

import "os"

// othersWrite reports whether others than the owner may write.
func othersWrite(fi os.FileInfo) bool { return fi.Mode().Perm()&0o022 != 0 }
