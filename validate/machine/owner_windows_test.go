package machine

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/windows"
)

// TestAccessLists: a directory is closed if administrators alone may change it, by its owner and its list.
func TestAccessLists(t *testing.T) {
	t.Parallel()
	const service = "S-1-5-80-956008885-3418522649-1831038044-1853292631-2271478464"
	for sddl, want := range map[string]bool{
		// As Windows has it for System32 and Program Files.
		"O:" + service + "G:" + service + "D:PAI(A;;FA;;;" + service + ")(A;CIIO;GA;;;" + service + ")(A;;0x1301bf;;;SY)(A;OICIIO;GA;;;SY)(A;;0x1301bf;;;BA)" +
			"(A;OICIIO;GA;;;BA)(A;;0x1200a9;;;BU)(A;OICIIO;GXGR;;;BU)(A;OICIIO;GA;;;CO)(A;;0x1200a9;;;AC)": true,
		"O:BAG:BAD:(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)(A;OICI;0x1200a9;;;BU)": true,
		"O:SYG:SYD:(A;;FA;;;SY)":             true,
		"O:SYG:SYD:(D;;FA;;;BU)(A;;FA;;;SY)": true,
		"O:BAG:BAD:":                         true, // no one may do anything
		// Its owner may give himself every right.
		"O:BUG:BUD:(A;;FA;;;SY)":                  false,
		"O:S-1-5-21-1-2-3-1001G:BAD:(A;;FA;;;SY)": false,
		"G:BAD:(A;;FA;;;SY)":                      false,
		// No list at all.
		"O:BAG:BA": false,
		// Others may add, delete, write, or change the list.
		"O:BAG:BAD:(A;;FA;;;SY)(A;OICI;0x1301bf;;;BU)":     false,
		"O:BAG:BAD:(A;;FA;;;SY)(A;;0x2;;;BU)":              false,
		"O:BAG:BAD:(A;;FA;;;SY)(A;;0x4;;;AU)":              false,
		"O:BAG:BAD:(A;;FA;;;SY)(A;;0x40;;;WD)":             false,
		"O:BAG:BAD:(A;;FA;;;SY)(A;;SD;;;WD)":               false,
		"O:BAG:BAD:(A;;FA;;;SY)(A;;WD;;;WD)":               false,
		"O:BAG:BAD:(A;;FA;;;SY)(A;;WO;;;IU)":               false,
		"O:BAG:BAD:(A;;FA;;;SY)(A;;GA;;;WD)":               false,
		"O:BAG:BAD:(A;;FA;;;SY)(A;;GW;;;S-1-5-21-1-2-3-4)": false,
		"O:BAG:BAD:(A;;FA;;;SY)(A;OICIIO;FA;;;BU)":         false, // the files in it
		"O:BAG:BAD:(D;;FA;;;BU)(A;;FA;;;BU)":               false, // the order is not read
		"O:BAG:BAD:(A;;FA;;;SY)(A;;FA;;;CO)":               false,
		"O:BAG:BAD:(A;;FA;;;SY)(XA;;FA;;;BU;(@User.a==1))": false,
	} {
		sd, err := windows.SecurityDescriptorFromString(sddl)
		if err != nil {
			t.Logf("%s cannot be made here: %v", sddl, err) // Wine reads fewer kinds of entries
			continue
		}
		if got := isClosedBy(sd); got != want {
			t.Errorf("%s: %v, want %v", sddl, got, want)
		}
	}
}

// TestNoAccessList: without a list everybody may do everything.
func TestNoAccessList(t *testing.T) {
	t.Parallel()
	sd, err := windows.NewSecurityDescriptor()
	if err != nil {
		t.Fatal(err)
	}
	owner, err := windows.CreateWellKnownSid(windows.WinLocalSystemSid)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(sd.SetOwner(owner, false), sd.SetDACL(nil, true, false)); err != nil {
		t.Fatal(err)
	}
	if isClosedBy(sd) {
		t.Error("it is closed")
	}
}

// TestSystemDirectories: what Windows keeps is closed, and what users may write below it is not.
func TestSystemDirectories(t *testing.T) {
	t.Parallel()
	top, err := windows.GetSystemWindowsDirectory()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"": true, "System32": true, "SYSTEM32": true, `System32\WindowsPowerShell\v1.0`: true, "Temp": false, "Tasks": false, `System32\spool\drivers\color`: false, `System32\x`: false} {
		if got := isOfSystem(filepath.Join(top, name)); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	if dir := os.TempDir(); isClosed(dir) || !mayWrite(dir) {
		t.Error("a directory of this user is closed")
	}
	if isClosed(filepath.Join(top, "no such directory")) {
		t.Error("a directory that is not there is closed")
	}
}
