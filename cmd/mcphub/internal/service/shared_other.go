//go:build !linux

package service

import (
	"context"
	"errors"

	"github.com/rs/zerolog"

	"mcphub/cmd/mcphub/internal/setup"
)

// ServeShared reports that there is none on this system: it does not say who descends from whom,
// so a server of the hub could attach.
func ServeShared(context.Context, *setup.Source, zerolog.Logger, Logger) error {
	return errors.New("sessions share a hub on Linux only")
}

// CannotShare says nothing: setup warns that attach has no effect here.
func CannotShare(*setup.Source) error { return nil }

// StartShared starts none.
func StartShared(context.Context, *setup.Source) (started bool, err error) { return false, nil }
