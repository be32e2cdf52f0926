//go:build !unix

package bearer

import "io/fs"

// foreign: the folder of a user is that user's, as the system makes it.
func foreign(fs.FileInfo) string { return "" }
