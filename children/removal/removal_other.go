//go:build !unix

package removal

import "os"

// All removes a folder and what is in it. It is no error if there is none.
func All(dir string) error { return os.RemoveAll(dir) }
