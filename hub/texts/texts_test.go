package texts

import (
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"
)

// Each text begins with a capital letter or a method, ends with a full stop or a list, and shows a name that acts.
func TestTheRules(t *testing.T) {
	t.Parallel()
	const odd = "a\"\x1b[2Jb"
	names := []string{odd, "c"}
	form := regexp.MustCompile(`^([A-Z"]|tools/call |own )[^\x1b]*(\.|"c")$`)
	for name, text := range map[string]string{
		"MayHaveRun": MayHaveRun, "NotSent": NotSent, "ChildTimedOut": ChildTimedOut(odd, odd, time.Second), "NoAnswer": NoAnswer(odd, odd, "Why."),
		"UnstableTool": UnstableTool(odd, odd), "ToolGone": ToolGone(odd, odd), "NotOffered": NotOffered(odd, odd, "Why."), "UnknownTool": UnknownTool(odd),
		"AmbiguousTool": AmbiguousTool(odd, names), "NoTool": NoTool(odd, odd, names), "NoServer": NoServer(odd, names), "CannotRun": CannotRun(odd, "Why."), "NoToolset": NoToolset(odd), "NoToolsetLeft": NoToolsetLeft(""), "NoToolsetLeft client": NoToolsetLeft(odd),
		"NotReady": NotReady(odd, "failed", "Why.", "Why."), "NoPrompt": NoPrompt(odd), "NoTemplate": NoTemplate(odd), "NoTask": NoTask(odd),
		"NoResource": NoResource(nil), "NoResource away": NoResource(names), "NoExtension": NoExtension("ext", odd), "NoExtensionResource": NoExtensionResource("ext", odd),
		"NoExtensionMethod": NoExtensionMethod(odd), "AmbiguousMethod": AmbiguousMethod(odd, names), "Lacks": Lacks("tools/call", "a name", "/params/name"),
		"LacksArgument": LacksArgument("own", "query", "a word"), "TaskDenied": TaskDenied(odd, odd), "TaskRefused": TaskRefused(odd, "of more than 5 bytes"),
		"Unanswered": Unanswered("Why."), "ClientGone": ClientGone, "SharedServer": SharedServer(odd), "UnknownCursor": UnknownCursor, "ListChanged": ListChanged,
		"OtherList": OtherList, "NoChanges": NoChanges, "HubEnded": HubEnded, "NeedsLogin": NeedsLogin(odd, "https://hub.example/login/A"), "BadArguments": BadArguments(odd, odd, errors.New("Why.")),
	} {
		if !form.MatchString(text) {
			t.Errorf("%s: %s", name, text)
		}
		if n := strings.Count(text, "answer"); n > 1 {
			t.Errorf("%s says %d times that it is about an answer: %s", name, n, text)
		}
	}
}
