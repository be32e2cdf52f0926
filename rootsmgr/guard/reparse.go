package guard

import "io/fs"

// Attributes and reparse tags of Windows, of which modeOf makes a type.
const (
	attributeDirectory = 0x10
	attributeReparse   = 0x400

	tagMountPoint = 0xA0000003 // a junction, or a volume
	tagSymlink    = 0xA000000C
	tagSocket     = 0x80000023
	tagSurrogate  = 1 << 29 // set in tags of what stands for another name
)

// modeOf returns the type of what has these attributes, and this tag if it is a reparse point.
func modeOf(attributes, tag uint32) fs.FileMode {
	if attributes&attributeReparse != 0 {
		switch {
		case tag == tagMountPoint || tag == tagSymlink:
			return fs.ModeSymlink
		case tag == tagSocket:
			return fs.ModeSocket
		case tag&tagSurrogate != 0:
			return fs.ModeIrregular
		}
	}
	if attributes&attributeDirectory != 0 {
		return fs.ModeDir
	}
	return 0
}
