package guard

import (
	"io/fs"
	"testing"
)

// TestReparsePoints: only what stands for another name is a link.
func TestReparsePoints(t *testing.T) {
	t.Parallel()
	const directory, file = attributeDirectory, 0x20
	for _, tt := range []struct {
		what            string
		attributes, tag uint32
		want            fs.FileMode
	}{
		{"a file", file, 0, 0},
		{"a directory", directory, 0, fs.ModeDir},
		{"a tag that is none", directory, tagSymlink, fs.ModeDir},
		{"a junction", directory | attributeReparse, 0xA0000003, fs.ModeSymlink},
		{"a link to a directory", directory | attributeReparse, 0xA000000C, fs.ModeSymlink},
		{"a link to a file", file | attributeReparse, 0xA000000C, fs.ModeSymlink},
		{"a link of WSL", file | attributeReparse, 0xA000001D, fs.ModeIrregular},
		{"a link of the system to itself", directory | attributeReparse, 0xA0000019, fs.ModeIrregular},
		{"a socket", file | attributeReparse, 0x80000023, fs.ModeSocket},
		{"a directory of OneDrive", directory | attributeReparse, 0x9000001A, fs.ModeDir},
		{"a file of OneDrive", file | attributeReparse, 0x9000701A, 0},
		{"a directory of a projected file system", directory | attributeReparse, 0x9000001C, fs.ModeDir},
		{"a file without doubles", file | attributeReparse, 0x80000013, 0},
		{"a program of the store", file | attributeReparse, 0x8000001B, 0},
	} {
		if got := modeOf(tt.attributes, tt.tag); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.what, got, tt.want)
		}
	}
}
