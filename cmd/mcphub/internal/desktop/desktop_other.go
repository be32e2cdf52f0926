//go:build !linux

package desktop

import "context"

// showNotice shows nothing: only Linux has such desktops.
func (*Notifier) showNotice(context.Context, Notice) error { return nil }
