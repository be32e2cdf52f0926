//go:build !unix

package files

import (
	"io/fs"
	"os"
)

const openFlags = 0

func sameOwner(*os.File, fs.FileInfo) {}
