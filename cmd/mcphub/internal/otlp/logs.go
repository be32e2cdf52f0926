//go:build otlp

package otlp

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/rs/zerolog"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	logs "go.opentelemetry.io/proto/otlp/logs/v1"
	resource "go.opentelemetry.io/proto/otlp/resource/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"mcphub/cmd/mcphub/internal/delivery"
	"mcphub/hub/audit"
	"mcphub/hub/audit/trail"
)

const (
	defaultLogs = "http://localhost:4318/v1/logs" // of the specification
	logsPath    = "v1/logs"
	defaultTime = 10 * time.Second // for a request
	maxAnswer   = 64 << 10         // bytes of an answer
	maxRequests = 64               // for one batch, of a collector that has taken nothing yet
)

// A logCollector takes the lines of the record as log records. It is the only Link to itself: each batch is a request of its own, or several if the
// collector cannot read it.
type logCollector struct {
	url    string
	place  string // the url without its password, for messages and the state
	header http.Header
	packed bool // by gzip
	client *http.Client
	of     *resource.Resource
	scope  *common.InstrumentationScope

	records []*logs.LogRecord // of the batch
	takes   bool              // the collector has taken something: what it refuses is no fault of the settings
}

// OpenLogs makes the Collector that the variables OTEL_* name, for the hub of a version. It sends nothing.
func OpenLogs(ctx context.Context, getenv func(string) string, version string, log zerolog.Logger) (delivery.Collector, error) {
	c := &logCollector{header: http.Header{}, scope: &common.InstrumentationScope{Name: "mcphub", Version: version}}
	if err := c.readAddress(getenv); err != nil {
		return nil, err
	}
	if err := c.readHeaders(getenv); err != nil {
		return nil, err
	}
	limit := defaultTime
	if text, by := Logs.setting(getenv, "TIMEOUT"); text != "" {
		ms, err := strconv.Atoi(text)
		if err != nil || ms <= 0 {
			return nil, fmt.Errorf("%s is %q: write milliseconds", by, text)
		}
		limit = time.Duration(ms) * time.Millisecond
	}
	switch text, by := Logs.setting(getenv, "COMPRESSION"); text {
	case "", "none":
	case "gzip":
		c.packed = true
	default:
		return nil, fmt.Errorf("%s is %q: write gzip or none", by, text)
	}
	secured, err := readTLS(getenv)
	if err != nil {
		return nil, err
	}
	of, err := resourceOf(ctx, version, log)
	if err != nil {
		return nil, err
	}
	c.of = &resource.Resource{}
	for _, kv := range of.Attributes() {
		c.of.Attributes = append(c.of.Attributes, textAttribute(string(kv.Key), kv.Value.String()))
	}
	c.client = &http.Client{
		Timeout:   limit,
		Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: secured, ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 1, IdleConnTimeout: time.Minute},
		// The record goes to the address that a person has named, and to no other.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return c, nil
}

// readAddress reads where the log records go: the variable for logs names the address itself, the one for all signals what it begins with.
func (c *logCollector) readAddress(getenv func(string) string) error {
	c.url, c.place = defaultLogs, defaultLogs
	text, by := Logs.setting(getenv, "ENDPOINT")
	if text == "" {
		return nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return fmt.Errorf("%s is no address: write http://HOST:PORT or https://HOST:PORT", by) // it may have a password
	}
	if by == varEndpoint {
		u = u.JoinPath(logsPath)
	}
	c.url, c.place = u.String(), u.Redacted()
	return nil
}

// readHeaders reads NAME=VALUE,NAME=VALUE, with values in the encoding of URLs. An error shows no value, which may be a secret.
func (c *logCollector) readHeaders(getenv func(string) string) error {
	text, by := Logs.setting(getenv, "HEADERS")
	if text == "" {
		return nil
	}
	for i, one := range strings.Split(text, ",") {
		name, value, ok := strings.Cut(one, "=")
		decoded, err := url.PathUnescape(strings.TrimSpace(value))
		if name = strings.TrimSpace(name); !ok || name == "" || err != nil {
			return fmt.Errorf("%s: its header %d is not NAME=VALUE in the encoding of URLs", by, i+1)
		}
		c.header.Set(name, decoded)
	}
	return nil
}

// readTLS reads the authorities of the collector, and the certificate that this program shows. nil: the system's authorities, and none.
func readTLS(getenv func(string) string) (*tls.Config, error) {
	cfg := &tls.Config{MinVersion: tls.VersionTLS12}
	if file, by := Logs.setting(getenv, "CERTIFICATE"); file != "" {
		pem, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", by, err)
		}
		if cfg.RootCAs = x509.NewCertPool(); !cfg.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s: %s holds no certificate", by, file)
		}
	}
	cert, by := Logs.setting(getenv, "CLIENT_CERTIFICATE")
	key, _ := Logs.setting(getenv, "CLIENT_KEY")
	if cert != "" || key != "" {
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			return nil, fmt.Errorf("%s and its CLIENT_KEY: %w", by, err)
		}
		cfg.Certificates = []tls.Certificate{pair}
	}
	return cfg, nil
}

func (c *logCollector) Name() string        { return "otlp" }
func (c *logCollector) Destination() string { return c.place }

// Connect returns what is there: a connection is made for the first batch.
func (c *logCollector) Connect(ctx context.Context) (delivery.Link, error) {
	c.records = nil
	return c, ctx.Err()
}

// Put makes the log records of a line: one for each decision, else one. The body of the first is the line.
func (c *logCollector) Put(log string, e *audit.Entry, line []byte) error {
	severity, word := logs.SeverityNumber_SEVERITY_NUMBER_INFO, "info"
	if delivery.IsNotable(e.Kind) {
		severity, word = logs.SeverityNumber_SEVERITY_NUMBER_INFO2, "notice"
	}
	said := []trail.Event{{}}
	if event, err := trail.ParseEvent(log, line); err == nil { // else it is sent all the same: what is in the file is there too
		said = event.Each()
	}
	for i := range said {
		r := &logs.LogRecord{
			TimeUnixNano: uint64(e.Time.UnixNano()), ObservedTimeUnixNano: uint64(time.Now().UnixNano()), SeverityNumber: severity, SeverityText: word, EventName: "mcphub." + e.Kind,
			Attributes: []*common.KeyValue{textAttribute("mcphub.audit.log", log), numberAttribute("mcphub.audit.line", int64(e.Number))},
		}
		if i == 0 {
			r.Body = &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: validText(string(line))}}
		}
		fillRecord(r, &said[i])
		c.records = append(c.records, r)
	}
	return nil
}

// fillRecord adds what a line says about one decision.
func fillRecord(r *logs.LogRecord, e *trail.Event) {
	if e.Call > 0 {
		r.Attributes = append(r.Attributes, numberAttribute("mcphub.audit.call", int64(e.Call)))
	}
	for _, a := range []struct{ name, text string }{
		{"mcphub.principal", e.Principal}, {"mcphub.client.name", e.ClientInfo.Name}, {"client.address", e.Address}, {"mcp.session.id", e.Session},
		{"mcp.method.name", e.Method}, {"mcphub.server.name", e.Child}, {"gen_ai.tool.name", e.Tool},
		{"mcphub.decision", e.Decision}, {"mcphub.rule", e.Rule}, {"mcphub.code", e.Code}, {"mcphub.approver", e.Approver},
	} {
		if a.text != "" {
			r.Attributes = append(r.Attributes, textAttribute(a.name, a.text))
		}
	}
	parts := strings.Split(e.Parent, "-") // version, trace, span, flags
	if len(parts) < 4 {
		return
	}
	id, err := hex.DecodeString(parts[1])
	span, err2 := hex.DecodeString(parts[2])
	flags, err3 := hex.DecodeString(parts[3])
	if errors.Join(err, err2, err3) == nil && len(id) == 16 && len(span) == 8 && len(flags) == 1 {
		r.TraceId, r.SpanId, r.Flags = id, span, uint32(flags[0])
	}
}

// Flush sends the batch. The collector confirms it, or it is sent again. A part that the collector cannot read is sent in two halves, down to a
// single line, which is sent once: a caller whose line is refused does not hide the lines of others.
func (c *logCollector) Flush(ctx context.Context) (delivery.Receipt, error) {
	all := delivery.Receipt{Confirmed: true}
	parts := [][]*logs.LogRecord{c.records}
	c.records = nil
	for requests := 0; len(parts) > 0; requests++ {
		part := parts[len(parts)-1]
		parts = parts[:len(parts)-1]
		r, err := c.sendPart(ctx, part)
		if err != nil {
			return delivery.Receipt{}, err
		}
		if first, second := halves(part); !r.Confirmed && len(second) > 0 && (c.takes || requests+len(parts) < maxRequests-2) {
			parts = append(parts, second, first) // the first is sent next
			continue
		}
		if all.Refused += r.Refused; r.Refused > 0 {
			all.Why = r.Why
		}
	}
	return all, nil
}

// halves returns the log records of one half of the lines, and of the other. Of a single line the second half is empty.
func halves(part []*logs.LogRecord) (first, second []*logs.LogRecord) {
	for at := (len(part) + 1) / 2; at > 0; at-- {
		if at < len(part) && part[at].Body != nil {
			return part[:at], part[at:]
		}
	}
	for at := (len(part) + 1) / 2; at < len(part); at++ {
		if part[at].Body != nil {
			return part[:at], part[at:]
		}
	}
	return part, nil
}

// sendPart sends log records, of whole lines. The Receipt is not Confirmed if the collector cannot read what was sent.
func (c *logCollector) sendPart(ctx context.Context, part []*logs.LogRecord) (delivery.Receipt, error) {
	lines := uint64(0)
	for _, r := range part {
		if r.Body != nil {
			lines++
		}
	}
	if lines == 0 {
		return delivery.Receipt{Confirmed: true}, nil
	}
	body, err := c.encodeRecords(part)
	if err != nil {
		return delivery.Receipt{}, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return delivery.Receipt{}, err
	}
	r.Header = c.header.Clone()
	r.Header.Set("Content-Type", "application/x-protobuf")
	if c.packed {
		r.Header.Set("Content-Encoding", "gzip")
	}
	resp, err := c.client.Do(r)
	if err != nil {
		return delivery.Receipt{}, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return delivery.Receipt{}, err
	}
	switch resp.StatusCode {
	case http.StatusOK, http.StatusAccepted, http.StatusNoContent:
		c.takes = true
		refused, why := readRefused(answer)
		return delivery.Receipt{Confirmed: true, Refused: min(refused, lines), Why: validText(why)}, nil
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity: // so it would be the next time
		return delivery.Receipt{Refused: lines, Why: "the collector answers " + resp.Status}, nil
	}
	return delivery.Receipt{}, fmt.Errorf("the collector answers %s", resp.Status)
}

// encodeRecords returns log records as an ExportLogsServiceRequest, which has the fields of LogsData.
func (c *logCollector) encodeRecords(part []*logs.LogRecord) ([]byte, error) {
	body, err := proto.Marshal(&logs.LogsData{ResourceLogs: []*logs.ResourceLogs{{Resource: c.of, ScopeLogs: []*logs.ScopeLogs{{Scope: c.scope, LogRecords: part}}}}})
	if err != nil || !c.packed {
		return body, err
	}
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err = w.Write(body); err == nil {
		err = w.Close()
	}
	return packed.Bytes(), err
}

// readRefused reads an ExportLogsServiceResponse: how many log records were refused, and why.
func readRefused(answer []byte) (refused uint64, why string) {
	eachField(answer, func(number protowire.Number, _ uint64, partial []byte) {
		if number != 1 {
			return
		}
		eachField(partial, func(number protowire.Number, value uint64, text []byte) {
			switch number {
			case 1:
				refused = value
			case 2:
				why = string(text)
			}
		})
	})
	return refused, why
}

// eachField calls f with each field of a message that is a number or has a length, up to what cannot be read.
func eachField(message []byte, f func(number protowire.Number, value uint64, text []byte)) {
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return
		}
		message = message[n:]
		var value uint64
		var text []byte
		switch kind {
		case protowire.VarintType:
			value, n = protowire.ConsumeVarint(message)
		case protowire.BytesType:
			text, n = protowire.ConsumeBytes(message)
		default:
			n = protowire.ConsumeFieldValue(number, kind, message)
		}
		if n < 0 {
			return
		}
		f(number, value, text)
		message = message[n:]
	}
}

func (c *logCollector) Ended() <-chan error { return nil }
func (c *logCollector) Finish() bool        { return true }
func (c *logCollector) Close()              { c.client.CloseIdleConnections() }

func textAttribute(name, text string) *common.KeyValue {
	return &common.KeyValue{Key: name, Value: &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: validText(text)}}}
}

func numberAttribute(name string, n int64) *common.KeyValue {
	return &common.KeyValue{Key: name, Value: &common.AnyValue{Value: &common.AnyValue_IntValue{IntValue: n}}}
}
