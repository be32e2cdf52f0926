package desktop

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/godbus/dbus/v5"
)

var errNoDesktop = errors.New("there is no session bus on a socket of this machine (DBUS_SESSION_BUS_ADDRESS)")

// busAddress returns the address of the session bus; "" if there is none. It is not asked of the
// library, which would start one.
func (n *Notifier) busAddress() string {
	address := n.env("DBUS_SESSION_BUS_ADDRESS")
	if address == "" {
		if dir := n.env("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
			if _, err := os.Stat(filepath.Join(dir, "bus")); err == nil {
				address = "unix:path=" + dbus.EscapeBusAddressValue(filepath.Join(dir, "bus"))
			}
		}
	}
	for one := range strings.SplitSeq(address, ";") {
		if !strings.HasPrefix(one, "unix:") { // others run a program, or leave this machine
			return ""
		}
	}
	return address
}

func (n *Notifier) showNotice(ctx context.Context, notice Notice) error {
	address := n.busAddress()
	if address == "" {
		return errNoDesktop
	}
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	conn, err := dbus.Connect(address, dbus.WithContext(ctx))
	if err != nil {
		return err
	}
	defer conn.Close()
	left := max(time.Until(notice.Until), time.Second).Milliseconds()
	return conn.Object("org.freedesktop.Notifications", "/org/freedesktop/Notifications").CallWithContext(ctx, "org.freedesktop.Notifications.Notify", 0,
		"mcphub", n.last, "dialog-question", notice.Title, notice.Text, []string{}, map[string]dbus.Variant{"urgency": dbus.MakeVariant(byte(1))}, int32(min(left, 1<<31-1)),
	).Store(&n.last)
}
