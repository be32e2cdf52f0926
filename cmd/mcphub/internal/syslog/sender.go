package syslog

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"
	"github.com/rs/zerolog"

	"mcphub/internal/atomicfile"
	"mcphub/internal/audit"
)

// Options name the collector that gets the lines.
type Options struct {
	Address string // tcp://HOST:PORT or tls://HOST:PORT
	CA      string // file with the authorities of a collector by TLS; "": the system's
}

// IsZero reports whether nothing is sent.
func (o Options) IsZero() bool { return o.Address == "" }

func splitAddress(s string) (network, address string, err error) {
	network, address, ok := strings.Cut(s, "://")
	if host, port, err := net.SplitHostPort(address); !ok || network != "tcp" && network != "tls" || err != nil || host == "" || port == "" {
		return "", "", fmt.Errorf("%q is neither tcp://HOST:PORT nor tls://HOST:PORT", s)
	}
	return network, address, nil
}

// A Sender sends the logs of a folder.
type Sender struct {
	Dir string
	Options
	Log zerolog.Logger

	host string
	wait time.Duration     // after the first failure; 0: firstWait
	sure map[string]uint64 // what counts as delivered: of each log the number of a line
	told string            // the last error
}

// Times of a Sender.
const (
	lookEvery   = 500 * time.Millisecond // for new lines
	settleAfter = 3 * time.Second        // a line counts as delivered if the connection has lasted so long after it
	sendTime    = 10 * time.Second       // for a connection, and for a write
	firstWait   = time.Second            // after a failure
	mostWait    = time.Minute
	lockWait    = 10 * time.Second // until the lock of another hub is tried again
	endTime     = time.Second      // for the collector to take the last lines
)

// Names of the files, in the folder of the record.
const (
	stateName = "syslog.json"
	lockName  = "syslog" + audit.LockEnding
)

// Run sends what there is and what comes until ctx ends, and then what is left.
func (s *Sender) Run(ctx context.Context) {
	s.host, _ = os.Hostname()
	lock := flock.New(filepath.Join(s.Dir, lockName), flock.SetPermissions(0o600))
	defer func() { _ = lock.Close() }()
	s.wait = cmp.Or(s.wait, firstWait)
	for wait := s.wait; ; {
		if ok, err := lock.TryLock(); !ok {
			s.noteFailure(err)
			if !sleepUntil(ctx, lockWait) {
				return
			}
			continue
		}
		began := time.Now()
		err := s.deliver(ctx)
		if err == nil {
			return
		}
		s.noteFailure(err)
		if time.Since(began) > mostWait {
			wait = s.wait
		}
		if !sleepUntil(ctx, wait) {
			return
		}
		wait = min(2*wait, mostWait)
	}
}

// sleepUntil waits, and reports whether ctx goes on.
func sleepUntil(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

func (s *Sender) noteFailure(err error) {
	if err == nil || err.Error() == s.told {
		return
	}
	s.told = err.Error()
	s.Log.Error().Err(err).Str("address", s.Address).Msg("the audit log is not sent to the collector of audit.syslog; it is tried again, and nothing is lost: the file has it")
}

// sent is how far the logs were sent at a moment.
type sent struct {
	at   time.Time
	upTo map[string]uint64
}

// deliver sends on one connection until that breaks. nil: ctx has ended, and all was sent.
func (s *Sender) deliver(ctx context.Context) error {
	if err := s.readState(); err != nil {
		return err
	}
	conn, err := s.dial(ctx)
	if err != nil {
		return err
	}
	var reading sync.WaitGroup
	defer func() {
		_ = conn.Close()
		reading.Wait()
	}()
	ended := make(chan error, 1)
	reading.Go(func() {
		_, err := io.Copy(io.Discard, conn)
		ended <- err
	})
	if s.told != "" {
		s.told = ""
		s.Log.Warn().Str("address", s.Address).Msg("the audit log is sent to the collector again")
	}
	logs := map[string]*logReader{}
	defer func() {
		for _, l := range logs {
			l.closeFile()
		}
	}()
	var waiting []sent
	out := bufio.NewWriterSize(timedWriter{conn}, 64<<10)
	for last := false; ; {
		n, err := s.sendNews(logs, out)
		if err != nil {
			return err
		}
		if n > 0 {
			waiting = append(waiting, sent{time.Now(), numbersOf(logs)})
		}
		if last {
			return s.endDelivery(conn, ended, logs)
		}
		for len(waiting) > 0 && time.Since(waiting[0].at) >= settleAfter {
			if err := s.writeState(waiting[0].upTo); err != nil {
				return err
			}
			waiting = waiting[1:]
		}
		select {
		case <-time.After(lookEvery):
		case err := <-ended:
			return fmt.Errorf("the collector has closed the connection: %w", errors.Join(err, io.EOF))
		case <-ctx.Done():
			last = true
		}
	}
}

// endDelivery tells the collector that no more comes. If it closes the connection then, it has all.
func (s *Sender) endDelivery(conn net.Conn, ended <-chan error, logs map[string]*logReader) error {
	if half, ok := conn.(interface{ CloseWrite() error }); ok && half.CloseWrite() == nil {
		select {
		case err := <-ended:
			if err == nil {
				return s.writeState(numbersOf(logs))
			}
		case <-time.After(endTime):
		}
	}
	return nil
}

func numbersOf(logs map[string]*logReader) map[string]uint64 {
	all := map[string]uint64{}
	for id, l := range logs {
		all[id] = l.number
	}
	return all
}

// sendNews sends the lines that have come, and returns how many.
func (s *Sender) sendNews(logs map[string]*logReader, out *bufio.Writer) (n int, err error) {
	files, err := audit.LogFiles(s.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil // a hub makes it again
	}
	if err != nil {
		return 0, err
	}
	for id, l := range logs {
		if files[id] == nil {
			l.closeFile()
			delete(logs, id)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(files)) {
		l := logs[id]
		if l == nil {
			l = &logReader{dir: s.Dir, id: id, number: s.sure[id]}
			logs[id] = l
		}
		for {
			line, e, err := l.next()
			if errors.Is(err, io.EOF) || errors.Is(err, fs.ErrNotExist) {
				break
			}
			if err != nil {
				return n, err
			}
			if err := s.writeMessage(out, id, &e, line); err != nil {
				return n, err
			}
			n++
		}
	}
	return n, out.Flush()
}

// Parts of a message: facility "log audit", severities, and the id of its data, whose number is the one for examples: there is none of our own.
const (
	facility = 13
	notice   = 5
	info     = 6
	dataID   = "mcphub@32473"
)

// writeMessage writes a line as one message.
func (s *Sender) writeMessage(out io.Writer, log string, e *audit.Entry, line []byte) error {
	severity := info
	if e.Kind == audit.KindRefusal || e.Kind == audit.KindRejection || e.Kind == audit.KindLost {
		severity = notice
	}
	host := s.host
	if host == "" || len(host) > 255 {
		host = "-"
	}
	head := fmt.Sprintf(`<%d>1 %s %s mcphub - %s [%s log="%s" n="%d"] `, 8*facility+severity, e.Time.UTC().Format(audit.TimeFormat), host, e.Kind, dataID, log, e.Number)
	for _, part := range [][]byte{[]byte(strconv.Itoa(len(head) + len(line))), {' '}, []byte(head), line} {
		if _, err := out.Write(part); err != nil {
			return err
		}
	}
	return nil
}

// timedWriter bounds each write.
type timedWriter struct{ net.Conn }

func (w timedWriter) Write(b []byte) (int, error) {
	_ = w.SetWriteDeadline(time.Now().Add(sendTime))
	return w.Conn.Write(b)
}

func (s *Sender) dial(ctx context.Context) (net.Conn, error) {
	network, address, err := splitAddress(s.Address)
	if err != nil {
		return nil, err
	}
	d := net.Dialer{Timeout: sendTime}
	if network == "tcp" {
		return d.DialContext(ctx, "tcp", address)
	}
	cfg := &tls.Config{MinVersion: tls.VersionTLS12}
	if s.CA != "" {
		pem, err := os.ReadFile(s.CA)
		if err != nil {
			return nil, fmt.Errorf("audit.syslog.ca: %w", err)
		}
		if cfg.RootCAs = x509.NewCertPool(); !cfg.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("audit.syslog.ca: %s holds no certificate", s.CA)
		}
	}
	within, cancel := context.WithTimeout(ctx, sendTime)
	defer cancel()
	return (&tls.Dialer{NetDialer: &d, Config: cfg}).DialContext(within, "tcp", address)
}

// state is the file that keeps how far each log was delivered.
type state struct {
	Address string            `json:"address"`
	Logs    map[string]uint64 `json:"logs"`
}

// readState reads it. Another collector gets all.
func (s *Sender) readState() error {
	s.sure = map[string]uint64{}
	raw, err := os.ReadFile(filepath.Join(s.Dir, stateName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var st state
	if err == nil {
		err = json.Unmarshal(raw, &st)
	}
	if err != nil {
		return fmt.Errorf("%s: %w; remove it, and all is sent again", stateName, err)
	}
	if st.Address == s.Address && st.Logs != nil {
		s.sure = st.Logs
	}
	return nil
}

func (s *Sender) writeState(upTo map[string]uint64) error {
	if maps.Equal(upTo, s.sure) {
		return nil
	}
	raw, err := json.Marshal(state{s.Address, upTo})
	if err == nil {
		err = atomicfile.WriteHint(filepath.Join(s.Dir, stateName), raw, 0o600)
	}
	if err == nil {
		s.sure = upTo
	}
	return err
}
