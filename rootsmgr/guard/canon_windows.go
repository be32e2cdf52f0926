package guard

import (
	"io/fs"
	"os"
	"path/filepath"
	"unsafe"

	"golang.org/x/sys/windows"
)

// Readable reports why this process could not list a directory or read a file.
func (OS) Readable(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return f.Close()
}

// TrueCase spells an existing path as the volume stores it, short names
// expanded.
func (OS) TrueCase(path string) (string, error) { return filepath.EvalSymlinks(path) }

// LongName implements [LongNamer].
func (OS) LongName(name string) (string, error) {
	path, err := windows.UTF16PtrFromString(name)
	if err != nil {
		return "", err
	}
	for n := uint32(len(name) + windows.MAX_PATH); ; {
		long := make([]uint16, n)
		if n, err = windows.GetLongPathName(path, &long[0], n); err != nil {
			return "", &fs.PathError{Op: "look at", Path: name, Err: err}
		}
		if int(n) < len(long) {
			return windows.UTF16ToString(long[:n]), nil
		}
	}
}

// Mode returns the type of name. A reparse point that stands for another name is a link, or
// irregular if its target cannot be read. Any other one is the file or the directory that it shows,
// such as a file of OneDrive.
func (OS) Mode(name string) (fs.FileMode, error) {
	info, err := os.Lstat(name)
	if err != nil {
		return 0, err
	}
	if info.Mode()&fs.ModeIrregular == 0 {
		return info.Mode(), nil
	}
	path, err := windows.UTF16PtrFromString(name)
	if err != nil {
		return 0, err
	}
	const share = windows.FILE_SHARE_READ | windows.FILE_SHARE_WRITE | windows.FILE_SHARE_DELETE
	h, err := windows.CreateFile(path, windows.FILE_READ_ATTRIBUTES, share, nil, windows.OPEN_EXISTING,
		windows.FILE_FLAG_BACKUP_SEMANTICS|windows.FILE_FLAG_OPEN_REPARSE_POINT, 0)
	if err != nil {
		return 0, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	defer windows.CloseHandle(h)
	var tag struct{ attributes, reparse uint32 } // FILE_ATTRIBUTE_TAG_INFO
	if err := windows.GetFileInformationByHandleEx(h, windows.FileAttributeTagInfo, (*byte)(unsafe.Pointer(&tag)), uint32(unsafe.Sizeof(tag))); err != nil {
		return 0, &fs.PathError{Op: "look at", Path: name, Err: err}
	}
	return modeOf(tag.attributes, tag.reparse), nil
}

// errTooLong is the error for a path over the system's limit.
const errTooLong = windows.ERROR_FILENAME_EXCED_RANGE

// Drives returns the root directories of the drives that there are.
func (OS) Drives() []string {
	set, err := windows.GetLogicalDrives()
	if err != nil {
		set = 1<<26 - 1 // it cannot be told
	}
	var list []string
	for i := range 26 {
		if set&(1<<i) != 0 {
			list = append(list, string(rune('A'+i))+`:\`)
		}
	}
	return list
}
