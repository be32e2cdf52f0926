//go:build !unix

package validate

import "io/fs"

func ownedByMe(fs.FileInfo) error { return nil }
