package service

import (
	"context"

	"github.com/rs/zerolog"

	"mcphub/children/process"
)

// Adopt inherits who descends from a child and loses its parent. The function
// returned ends who is left of them, after the Hub has ended.
func Adopt(log zerolog.Logger) (end func()) {
	orphans, err := process.AdoptOrphans()
	if err != nil {
		log.Warn().Err(err).Msg("what a server starts may outlive it")
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- orphans.Run(ctx) }()
	return func() {
		cancel()
		if err := <-done; err != nil {
			log.Error().Err(err).Msg("left behind")
		}
	}
}
