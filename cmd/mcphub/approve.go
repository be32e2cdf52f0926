package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"mcphub/cmd/mcphub/internal/admin"
	"mcphub/cmd/mcphub/internal/exit"
	"mcphub/cmd/mcphub/internal/layout"
	"mcphub/hub/approval"
	"mcphub/internal/printable"
	"mcphub/internal/stdio"
)

func approveCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "approve",
		Short: "Answer, at a terminal, what the hubs ask a person",
		Long: "Shows the calls that wait for the approval of a person because a rule of the policy\n" +
			"escalates them (approval.from in hub.json has \"terminal\").\n" +
			"To allow one, type the code that is shown for it, and what it is to open if the\n" +
			"question leaves a choice: the code alone opens the file, the code and the word\n" +
			"directory its directory. It works at a terminal only, and not in one that the client\n" +
			"itself has opened. The exit status is 9 if nothing waits.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			t, err := stdio.OpenConsole()
			if err != nil {
				return err
			}
			defer t.Close()
			return approveWaiting(cmd.Context(), t)
		},
	}
	cmd.AddCommand(approveListCommand())
	return cmd
}

func approveListCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the calls that wait for approval at a terminal",
		Long: "Lists the calls that wait for mcphub approve, with what is asked about each. It makes no\n" +
			"code and answers nothing. Its output may go to a file, but as with approve it is for a\n" +
			"person. The exit status is 0 if nothing waits.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			list, failed := waitingCalls(cmd.Context(), cmd.ErrOrStderr(), false)
			report := waitingReport{Calls: []approval.Pending{}, Unreachable: failed}
			for _, w := range list {
				call := w.Pending
				call.ID, call.Digest = "", ""
				report.Calls = append(report.Calls, call)
			}
			if err := writeResult(cmd.OutOrStdout(), asJSON, report, func(out io.Writer) {
				for i, w := range list {
					w.showQuestion(out, i+1, len(list))
				}
				if len(list) == 0 && failed == 0 {
					layout.Println(out, "no call waits for approval at a terminal")
				}
			}); err != nil {
				return err
			}
			if failed > 0 {
				return fmt.Errorf("%d hubs could not be asked", failed)
			}
			return nil
		},
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

// waitingReport is the result of approve list; the shape of --json. It holds no id and
// no code: those are for a terminal.
type waitingReport struct {
	Calls       []approval.Pending `json:"calls"`
	Unreachable int                `json:"unreachable"` // hubs that could not be asked
}

// A terminal is the terminal that approve speaks to.
type terminal interface {
	io.Reader
	io.Writer
	// Forget drops what was typed before it was asked for.
	Forget() error
}

// waitingCall is one question, and the hub that asks it.
type waitingCall struct {
	hub admin.Hub
	approval.Pending
}

// approveWaiting goes through all that waits, one after the other.
func approveWaiting(ctx context.Context, t terminal) error {
	list, failed := waitingCalls(ctx, t, true)
	if len(list) == 0 {
		if failed > 0 {
			return fmt.Errorf("%d hubs could not be asked", failed)
		}
		return exit.Errorf(exit.NoHub, "no call waits for approval at a terminal; one does if a rule escalates it and approval.from has \"terminal\"")
	}
	layout.Printf(t, "%s for your answer. Ctrl-C ends this, and leaves what you have not answered waiting.\n", layout.When(len(list) == 1, "1 call waits")+layout.When(len(list) > 1, fmt.Sprintf("%d calls wait", len(list))))
	in := bufio.NewReader(t)
	for i, w := range list {
		w.showQuestion(t, i+1, len(list))
		if !slices.Contains(w.From, approval.AskedTerminal) {
			layout.Println(t, w.whereElse())
			continue
		}
		if err := decideCall(ctx, t, in, w); err != nil {
			return err
		}
	}
	return nil
}

// showQuestion writes the question, as one of several.
func (w *waitingCall) showQuestion(out io.Writer, n, of int) {
	layout.Printf(out, "\n%d of %d, session %.8s%s, waiting for %s, until %s\n\n%s\n", n, of, w.Session,
		layout.WithPrefix(" of ", printable.Escape(w.Client, 60))+layout.WithPrefix(" in ", printable.Escape(w.Folder, 300))+layout.When(w.Process != 0, fmt.Sprintf(", process %d", w.Process))+layout.WithPrefix(", token ", printable.Escape(w.Token, 60)), layout.FormatDuration(time.Since(w.Since)), w.Until.Local().Format(time.TimeOnly), layout.Lines{Text: printableLines(w.Text)})
}

// whereElse returns the other places at which a call can be answered.
func (w *waitingCall) whereElse() string {
	where := "in the client"
	if slices.Contains(w.From, approval.AskedConsole) {
		where = "on the page of mcphub console"
	}
	return "It cannot be allowed here: approval.from in hub.json does not name the terminal. Answer it " + where + "."
}

// waitingCalls lists what waits. To answer takes someone at a terminal: a hub that takes no
// answer from here is told about, and counts as failed.
func waitingCalls(ctx context.Context, t io.Writer, toAnswer bool) (list []waitingCall, failed int) {
	for _, h := range findHubs(t) {
		waiting, err := h.PendingApprovals(ctx)
		if toAnswer && err == nil && waiting.Refused != "" {
			err = errors.New(waiting.Refused)
		}
		if err != nil {
			layout.Printf(t, "%.200s: %.300s\n", h.Socket, err.Error())
			failed++
			continue
		}
		for _, p := range waiting.Approvals {
			list = append(list, waitingCall{hub: h, Pending: p})
		}
	}
	return list, failed
}

// decideCall shows a code for one question and takes what is typed: the code, n, or
// nothing, which leaves the question standing.
func decideCall(ctx context.Context, t terminal, in *bufio.Reader, w waitingCall) error {
	for {
		code, err := w.hub.ApprovalCode(ctx, w.ID)
		if err != nil {
			layout.Println(t, printable.Escape(err.Error(), 300))
			return nil
		}
		line, err := promptLine(t, in, "Type "+waysToAllow(code, w.Choices)+", n to deny it, or nothing to leave it")
		if err != nil {
			return err
		}
		if line == "" {
			layout.Println(t, "It goes on waiting.")
			return nil
		}
		typed, choice := readDecision(line, len(code), w.Choices)
		err = w.hub.AnswerApproval(ctx, approval.PendingAnswer{ID: w.ID, Digest: w.Digest, From: approval.AskedTerminal, Code: typed, Decision: choice})
		switch {
		case err != nil && (err.Error() == approval.ErrWrongCode.Error() || err.Error() == approval.ErrNoChoice.Error()):
			layout.Println(t, printable.Escape(err.Error(), 300))
			continue
		case err != nil:
			layout.Println(t, printable.Escape(err.Error(), 300))
		case choice == denial:
			layout.Println(t, "It is denied.")
		default:
			layout.Printf(t, "It is allowed (%s).\n", choice)
		}
		return nil
	}
}

const denial = "deny"

// waysToAllow returns what to type for each choice. The code alone stands for
// the first, which opens the least.
func waysToAllow(code string, choices []string) string {
	ways := spaceCode(code)
	for i, c := range choices {
		c = printable.Escape(c, 20)
		if i > 0 {
			ways += ", " + spaceCode(code) + " " + c
		}
		ways += " to allow the " + c
	}
	return ways
}

// readDecision takes a line apart into the code and the choice that follows it.
func readDecision(line string, size int, choices []string) (code, choice string) {
	typed := strings.ToUpper(strings.ReplaceAll(strings.TrimSpace(line), " ", ""))
	if typed == "N" || typed == "NO" {
		return "", denial
	}
	code, word := typed[:min(size, len(typed))], typed[min(size, len(typed)):]
	if word == "" && len(choices) > 0 {
		return code, choices[0]
	}
	for _, c := range choices {
		if strings.EqualFold(c, word) {
			return code, c
		}
	}
	return code, word
}

const longestLine = 200

var errLongLine = errors.New("too much was typed")

// promptLine asks for a line of what is typed from now on.
func promptLine(t terminal, in *bufio.Reader, text string) (string, error) {
	if err := t.Forget(); err != nil {
		return "", exit.Errorf(exit.Failure, "the terminal: %w", err)
	}
	in.Reset(t)
	layout.Printf(t, "\n%s: ", text)
	line, err := readLine(in)
	if err != nil {
		return "", exit.Errorf(exit.Failure, "the terminal: %w", err)
	}
	return strings.TrimSpace(line), nil
}

func readLine(in *bufio.Reader) (string, error) {
	var b strings.Builder
	for b.Len() < longestLine {
		c, err := in.ReadByte()
		if err != nil {
			return "", err
		}
		if c == '\n' || c == '\r' {
			return b.String(), nil
		}
		b.WriteByte(c)
	}
	return "", errLongLine
}

// spaceCode returns a code in two halves, which are easier to copy.
func spaceCode(code string) string { return code[:len(code)/2] + " " + code[len(code)/2:] }

// printableLines works like escapeText for a text of several lines.
func printableLines(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = escapeText(lines[i])
	}
	return strings.Join(lines, "\n")
}
