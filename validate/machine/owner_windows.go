package machine

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"unsafe"

	"golang.org/x/sys/windows"
)

// ownedByAdministrator is not asked here: see isClosed.
func ownedByAdministrator(fs.FileInfo) bool { return false }

// HasOtherNames cannot be asked cheaply here.
func HasOtherNames(fs.FileInfo) bool { return false }

// isNotReady reports that a drive has no medium, so that nothing is there.
func isNotReady(err error) bool { return errors.Is(err, windows.ERROR_NOT_READY) }

// mayWrite reports whether this user may add names to dir: the system says so, and nothing is made.
func mayWrite(dir string) bool {
	path, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return true
	}
	const addFile = windows.FILE_WRITE_DATA // of a directory
	h, err := windows.CreateFile(path, addFile, windows.FILE_SHARE_READ|windows.FILE_SHARE_WRITE|windows.FILE_SHARE_DELETE, nil,
		windows.OPEN_EXISTING, windows.FILE_FLAG_BACKUP_SEMANTICS, 0)
	if err != nil {
		return !errors.Is(err, windows.ERROR_ACCESS_DENIED)
	}
	windows.CloseHandle(h)
	return true
}

// isClosed reports a directory of Windows that the system keeps, or whose access list lets administrators alone change it.
// A list that cannot be read lets everybody.
func isClosed(dir string) bool {
	if isOfSystem(dir) {
		return true
	}
	sd, err := windows.GetNamedSecurityInfo(dir, windows.SE_FILE_OBJECT, windows.OWNER_SECURITY_INFORMATION|windows.DACL_SECURITY_INFORMATION)
	return err == nil && isClosedBy(sd)
}

// systemDirs are below the directory of Windows, and in the PATH of every user. Names below them that users may change are not
// among them.
var systemDirs = []string{"", "System32", "SysWOW64", `System32\Wbem`, `System32\OpenSSH`, `System32\WindowsPowerShell\v1.0`, `SysWOW64\WindowsPowerShell\v1.0`}

// isOfSystem reports a directory of systemDirs. Where Windows is, the system says, and no variable.
func isOfSystem(dir string) bool {
	top, err := windows.GetSystemWindowsDirectory()
	return err == nil && slices.ContainsFunc(systemDirs, func(name string) bool { return strings.EqualFold(filepath.Join(top, name), dir) })
}

// changes are the rights by which a directory, or what is in it, can be made another one.
const changes = windows.FILE_WRITE_DATA | windows.FILE_APPEND_DATA | fileDeleteChild | windows.DELETE | windows.WRITE_DAC | windows.WRITE_OWNER |
	windows.GENERIC_WRITE | windows.GENERIC_ALL | windows.MAXIMUM_ALLOWED

const fileDeleteChild = 0x40

// trustedInstaller is the service that owns what Windows installs.
const trustedInstaller = "S-1-5-80-956008885-3418522649-1831038044-1853292631-2271478464"

// isClosedBy reports that a security descriptor lets administrators alone change a directory.
func isClosedBy(sd *windows.SECURITY_DESCRIPTOR) bool {
	owner, _, err := sd.Owner()
	if err != nil || owner == nil || !isAdministrator(owner) {
		return false
	}
	list, _, err := sd.DACL()
	if err != nil || list == nil {
		return false // everybody may do everything
	}
	for i := range uint32(list.AceCount) {
		var ace *windows.ACCESS_ALLOWED_ACE
		if windows.GetAce(list, i, &ace) != nil {
			return false
		}
		if ace.Header.AceType == windows.ACCESS_DENIED_ACE_TYPE || ace.Mask&changes == 0 {
			continue
		}
		if ace.Header.AceType != windows.ACCESS_ALLOWED_ACE_TYPE {
			return false // a kind of entry that is not read
		}
		sid := (*windows.SID)(unsafe.Pointer(&ace.SidStart))
		ofCreator := ace.Header.AceFlags&windows.INHERIT_ONLY_ACE != 0 && sid.IsWellKnown(windows.WinCreatorOwnerSid) // for what an administrator makes there
		if !ofCreator && !isAdministrator(sid) {
			return false
		}
	}
	return true
}

func isAdministrator(sid *windows.SID) bool {
	return sid.IsWellKnown(windows.WinLocalSystemSid) || sid.IsWellKnown(windows.WinBuiltinAdministratorsSid) || sid.String() == trustedInstaller
}
