package delivery

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"mcphub/hub/audit"
)

// A Syslog is a collector that takes messages of RFC 5424.
type Syslog struct {
	Address string // tcp://HOST:PORT or tls://HOST:PORT
	CA      string // file with the authorities of a collector by TLS; "": the system's
}

// Name is part of the names of a Sender's files, and of its messages.
func (Syslog) Name() string { return "syslog" }

// Destination returns the address.
func (s Syslog) Destination() string { return s.Address }

func splitAddress(s string) (network, address string, err error) {
	network, address, ok := strings.Cut(s, "://")
	if host, port, err := net.SplitHostPort(address); !ok || network != "tcp" && network != "tls" || err != nil || host == "" || port == "" {
		return "", "", fmt.Errorf("%q is neither tcp://HOST:PORT nor tls://HOST:PORT", s)
	}
	return network, address, nil
}

// Connect connects to the collector.
func (s Syslog) Connect(ctx context.Context) (Link, error) {
	conn, err := s.dial(ctx)
	if err != nil {
		return nil, err
	}
	host, _ := os.Hostname()
	if host == "" || len(host) > 255 {
		host = "-"
	}
	l := &syslogLink{conn: conn, host: host, out: bufio.NewWriterSize(timedWriter{conn}, 64<<10), ended: make(chan error, 1)}
	l.reading.Go(func() {
		_, err := io.Copy(io.Discard, conn)
		l.ended <- err
	})
	return l, nil
}

func (s Syslog) dial(ctx context.Context) (net.Conn, error) {
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

// A syslogLink is one connection.
type syslogLink struct {
	conn    net.Conn
	host    string
	out     *bufio.Writer
	reading sync.WaitGroup
	ended   chan error
}

// Parts of a message: facility "log audit", severities, and the id of its data, whose number is the one for examples: there is none of our own.
const (
	facility = 13
	notice   = 5
	info     = 6
	dataID   = "mcphub@32473"
)

// Put writes a line as one message.
func (l *syslogLink) Put(log string, e *audit.Entry, line []byte) error {
	severity := info
	if IsNotable(e.Kind) {
		severity = notice
	}
	head := fmt.Sprintf(`<%d>1 %s %s mcphub - %s [%s log="%s" n="%d"] `, 8*facility+severity, e.Time.UTC().Format(audit.TimeFormat), l.host, e.Kind, dataID, log, e.Number)
	for _, part := range [][]byte{[]byte(strconv.Itoa(len(head) + len(line))), {' '}, []byte(head), line} {
		if _, err := l.out.Write(part); err != nil {
			return err
		}
	}
	return nil
}

// Flush writes what waits. No one confirms that it has arrived.
func (l *syslogLink) Flush(context.Context) (Receipt, error) { return Receipt{}, l.out.Flush() }

// Ended gets the error by which the collector has ended the connection.
func (l *syslogLink) Ended() <-chan error { return l.ended }

// Finish informs the collector that no more comes. If it closes the connection then, it has all.
func (l *syslogLink) Finish() (confirmed bool) {
	if half, ok := l.conn.(interface{ CloseWrite() error }); ok && half.CloseWrite() == nil {
		select {
		case err := <-l.ended:
			return err == nil
		case <-time.After(endTime):
		}
	}
	return false
}

// Close ends the connection.
func (l *syslogLink) Close() {
	_ = l.conn.Close()
	l.reading.Wait()
}

// timedWriter bounds each write.
type timedWriter struct{ net.Conn }

func (w timedWriter) Write(b []byte) (int, error) {
	_ = w.SetWriteDeadline(time.Now().Add(sendTime))
	return w.Conn.Write(b)
}
