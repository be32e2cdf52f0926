package service

import (
	"context"
	"io"
	"sync"

	"github.com/rs/zerolog"

	"mcphub/cmd/mcphub/internal/delivery"
	"mcphub/cmd/mcphub/internal/retention"
	"mcphub/hub"
	"mcphub/hub/audit"
)

// recordTo is where the lines of the record go besides the file.
type recordTo struct {
	copied     io.Writer // nil: none
	collectors []delivery.Collector
	lost       func(lines uint64) // is given the number of lines that a collector will not get
}

// keepRecord has what the Hub of cfg decides recorded in a folder ("": not).
// If that fails now it is tried again: the Hub decides what that means for
// calls. run keeps the record until its context ends. Old files are removed as keep says.
func keepRecord(cfg *hub.Config, dir string, short bool, keep retention.Bounds, to recordTo) (run func(context.Context) error) {
	if dir == "" {
		return func(context.Context) error { return nil }
	}
	required := cfg.Audit.Required
	o := audit.Options{Dir: dir, Program: "mcphub " + cfg.Version, Continue: short}
	if to.copied != nil {
		o.Copy = audit.NewCopy(to.copied, func(lines int) {
			cfg.Log.Error().Int("lines", lines).Msg("lines of the audit log were left out on standard output, which takes too little; the file has them")
		})
	}
	cfg.Audit.Recorder = audit.NewRecorder(o, func(st audit.State) { warnOfRecord(cfg.Log, st, required) })
	_ = cfg.Audit.Recorder.Open() // told by the line above
	keeper := retention.Keeper{Dir: dir, Bounds: keep, Log: cfg.Log}
	return func(ctx context.Context) error {
		copying, stop := context.WithCancel(context.WithoutCancel(ctx))
		var beside sync.WaitGroup
		if o.Copy != nil {
			beside.Go(func() { o.Copy.Run(copying) })
		}
		beside.Go(func() { keeper.Run(ctx) })
		for _, c := range to.collectors {
			sender := delivery.Sender{Dir: dir, To: c, Lost: to.lost, Log: cfg.Log}
			beside.Go(func() { sender.Run(copying) })
		}
		err := cfg.Audit.Recorder.Run(ctx) // its last line is copied too
		stop()
		beside.Wait()
		return err
	}
}

// warnOfRecord says loudly that nothing is recorded, and that it is again.
func warnOfRecord(log zerolog.Logger, st audit.State, required bool) {
	switch {
	case st.Error == "":
		log.Warn().Str("dir", st.Dir).Uint64("unrecorded", st.Unrecorded).Msg("the audit log is written again")
	case required:
		log.Error().Str("dir", st.Dir).Str("error", st.Error).Msg("THE AUDIT LOG CANNOT BE WRITTEN: calls are denied until it can (audit.required)")
	default:
		log.Error().Str("dir", st.Dir).Str("error", st.Error).Uint64("unrecorded", st.Unrecorded).Msg("THE AUDIT LOG CANNOT BE WRITTEN: calls go on without a record (audit.required is false)")
	}
}

// WithRecord has what the Hub of cfg decides recorded for as long as do does.
// Such a run goes on with the log of those before it: a file for each would be
// one for each call.
func WithRecord(cfg *hub.Config, dir string, do func() error) error {
	run := keepRecord(cfg, dir, true, retention.Bounds{}, recordTo{})
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- run(ctx) }()
	err := do()
	stop()
	<-done // it has told what went wrong
	return err
}
