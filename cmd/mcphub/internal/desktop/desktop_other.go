//go:build !linux

package desktop

import "context"

// show shows nothing: only Linux has such desktops.
func (*Notifier) show(context.Context, Notice) error { return nil }
