package loginpage

import (
	"context"
	"crypto/rand"
	"errors"
	"html/template"
	"net/http"
	"net/url"
	"strings"
	"time"

	"mcphub/cmd/mcphub/internal/oauth"
	"mcphub/internal/principal"
	"mcphub/internal/printable"
)

// This file serves the pages.

const (
	maxForm = 64 << 10         // bytes; tokens of issuers are long
	endTime = 20 * time.Second // for which the last page waits to show how the login went
)

// Whose returns whom a token admits to the hub.
type Whose = func(ctx context.Context, token string) (principal.Principal, error)

// A page is what one answer shows.
type page struct {
	Title, Text string
	Proof       bool   // it asks for a proof of who opens it: the token
	Issuer      string // or a login there; ""
	To, At      string // it leads to an address, which is at a host; ""
	Finish      bool   // it asks whether the login is to be kept
}

var shown = template.Must(template.New("").Parse(`<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>mcphub</title>
<h1>{{.Title}}</h1>
<p>{{.Text}}</p>
{{- if .Issuer}}
<form method="post"><p><button>Log in at {{.Issuer}}</button></p></form>
<p>Or show the hub your token:</p>
{{- end}}{{if .Proof}}
<form method="post"><p><label>The token that your client uses for this hub <input type="password" name="token" autocomplete="off" required></label></p><p><button>Go on</button></p></form>
{{- end}}{{if .To}}
<p><a href="{{.To}}" rel="noreferrer">Log in at {{.At}}</a></p>
{{- end}}{{if .Finish}}
<form method="post"><p><button>Finish</button></p></form>
{{- end}}
</html>
`))

// Serve serves the pages below Prefix. refused is why it has refused a request; "" if it has not.
func (d *Desk) Serve(w http.ResponseWriter, r *http.Request, whose Whose) (status int, refused string) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Security-Policy", "default-src 'none'; base-uri 'none'; frame-ancestors 'none'")
	h.Set("X-Frame-Options", "DENY")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin") // without any, browsers leave out the origin of a form
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	if r.Method != http.MethodPost && r.Method != http.MethodGet {
		h.Set("Allow", "GET, POST")
		return refuse(w, http.StatusMethodNotAllowed, "This page takes GET and POST.")
	}
	// A form of another page would use what the browser is: the cookie of one person, and the token of the one who has made the form.
	if err := http.NewCrossOriginProtection().Check(r); err != nil {
		return refuse(w, http.StatusForbidden, "This form was sent by another page. Open the link itself.")
	}
	name, back := strings.CutPrefix(r.URL.Path, backPath)
	switch {
	case r.URL.Path == provedPath:
		return d.serveProved(w, r, whose)
	case back:
		return d.serveBack(w, r, name)
	}
	t := d.find(strings.TrimPrefix(r.URL.Path, Prefix))
	if t == nil {
		return refuse(w, http.StatusNotFound, "This link has ended, or there was none. Call the tool again for another one.")
	}
	if r.Method == http.MethodPost {
		return t.takeForm(w, r, whose)
	}
	return t.show(w, r)
}

// show shows the page of a Ticket: how the browser proves whose it is or, to the one that has, where the login goes on.
func (t *Ticket) show(w http.ResponseWriter, r *http.Request) (int, string) {
	cookie := t.readCookie(r)
	if cookie == "" {
		http.SetCookie(w, &http.Cookie{Name: t.cookieName(), Value: rand.Text(), Path: "/", HttpOnly: true, Secure: t.isSecure(), SameSite: http.SameSiteLaxMode})
	}
	one := page{Title: "Log in at " + clean(t.Server)}
	if !t.isProvedBy(cookie) {
		one.Text = clean(t.At) + " asks for a login of " + clean(t.Who.Key()) + ". Go on only if that is you, and if you have just used this server yourself. First show this hub who you are."
		if one.Proof = true; t.Prove != nil {
			one.Issuer = hostOf(t.Who.Issuer)
		}
		return write(w, http.StatusOK, one)
	}
	t.desk.mu.Lock()
	one.To = t.address
	t.desk.mu.Unlock()
	if one.At = hostOf(one.To); one.At == "" {
		one.To, one.Text = "", "The hub is asking the server where to log in. Load this page again."
		return write(w, http.StatusOK, one)
	}
	one.Text = "You are " + clean(t.Who.Key()) + ". What you do at " + clean(t.At) + " by this hub is done as the person that you log in as now."
	return write(w, http.StatusOK, one)
}

// takeForm takes the proof that a browser sends, or begins the login that gives one.
func (t *Ticket) takeForm(w http.ResponseWriter, r *http.Request, whose Whose) (int, string) {
	cookie := t.readCookie(r)
	if cookie == "" {
		return refuse(w, http.StatusBadRequest, "The browser has to keep the cookie of this page. Open the link again.")
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		return refuse(w, http.StatusBadRequest, "The form cannot be read.")
	}
	if t.Prove == nil || r.PostForm.Has("token") {
		return t.prove(w, r, whose, strings.TrimSpace(r.PostForm.Get("token")), cookie)
	}
	if !t.mayBegin() {
		return refuse(w, http.StatusTooManyRequests, "Too many logins have begun by this link. Call the tool again for another link in ten minutes.")
	}
	attempt, err := t.Prove(r.Context(), t.Base+provedPath)
	if err != nil {
		return refuse(w, http.StatusBadGateway, "You cannot log in at "+hostOf(t.Who.Issuer)+" now: "+err.Error())
	}
	t.beginProof(attempt, cookie)
	return redirect(w, attempt.Address)
}

// serveProved serves the way back from the issuer of the caller's tokens.
func (d *Desk) serveProved(w http.ResponseWriter, r *http.Request, whose Whose) (int, string) {
	t := d.findState(r.URL.Query().Get("state"), func(t *Ticket) string {
		if t.proof == nil {
			return ""
		}
		return t.proof.State
	})
	var attempt *oauth.Attempt
	if t != nil {
		attempt = t.takeProof(t.readCookie(r))
	}
	if attempt == nil {
		return refuse(w, http.StatusBadRequest, notAwaited)
	}
	g, err := attempt.Finish(r.Context(), r.URL.Query())
	if err != nil {
		t.noteWrong()
		return refuse(w, http.StatusForbidden, "The hub does not know who you are: "+err.Error())
	}
	return t.prove(w, r, whose, g.Access, t.readCookie(r))
}

const notAwaited = "The hub does not wait for this answer from this browser. Open the link in the browser in which you log in."

// prove looks at a token by which a browser proves whose it is.
func (t *Ticket) prove(w http.ResponseWriter, r *http.Request, whose Whose, token, cookie string) (int, string) {
	who, err := whose(r.Context(), token)
	switch {
	case errors.Is(err, principal.ErrUnreachable):
		return refuse(w, http.StatusServiceUnavailable, "The issuer of the token cannot be asked now. Try again later.")
	case err != nil || !who.Known():
		t.noteWrong()
		return refuse(w, http.StatusForbidden, "The hub does not admit this token. Open the link again, and show the one that your client uses.")
	case who.Key() != t.Who.Key():
		t.noteWrong()
		return refuse(w, http.StatusForbidden, "This link is for "+clean(t.Who.Key())+", and you are "+clean(who.Key())+". Do not log in by it: what that caller does would be done as you.")
	}
	t.noteProved(cookie)
	return redirect(w, t.Link())
}

// serveBack asks whether a login is to be kept, takes the answer of the authorization server, and shows how the login went.
//
// A program at another port of the hub's host can set the cookie of a browser: browsers share cookies among ports. It could have a browser
// of another person bring an answer, and that person would never have seen a page of the hub. So the person is told whose login it is.
func (d *Desk) serveBack(w http.ResponseWriter, r *http.Request, server string) (int, string) {
	q := r.URL.Query()
	t := d.findState(q.Get("state"), func(t *Ticket) string { return t.state })
	if t == nil || t.Server != server || !t.isProvedBy(t.readCookie(r)) {
		return refuse(w, http.StatusBadRequest, notAwaited)
	}
	if r.Method == http.MethodGet && !q.Has("error") {
		return write(w, http.StatusOK, page{
			Title: "Finish the login at " + clean(server), Finish: true,
			Text: "This is a login of " + clean(t.Who.Key()) + ". What that caller does at " + clean(t.At) + " by this hub is done as the person that you have just logged in as. Finish only if " + clean(t.Who.Key()) + " is you.",
		})
	}
	if !t.takeAnswer(t.readCookie(r), q) {
		return refuse(w, http.StatusBadRequest, notAwaited)
	}
	late := time.NewTimer(endTime)
	defer late.Stop()
	select {
	case <-t.done:
	case <-late.C:
		return write(w, http.StatusOK, page{Title: clean(server), Text: "The hub has the answer, and the server has not given a login yet. You can close this page."})
	case <-r.Context().Done():
		return 0, ""
	}
	d.mu.Lock()
	err := t.err
	d.mu.Unlock()
	if err != nil {
		return write(w, http.StatusOK, page{Title: "No login at " + clean(server), Text: printable.Escape(err.Error(), 500) + ". You can close this page, and call the tool again."})
	}
	return write(w, http.StatusOK, page{Title: "Logged in at " + clean(server), Text: "You can close this page. If the tool does not go on by itself, call it again."})
}

// cookieName returns the name of the cookie. Over HTTPS no other host may set it.
func (t *Ticket) cookieName() string {
	if t.isSecure() {
		return "__Host-mcphub-login"
	}
	return "mcphub-login"
}

func (t *Ticket) isSecure() bool { return strings.HasPrefix(t.Base, "https://") }

// readCookie returns the cookie of a browser; "" if it has none.
func (t *Ticket) readCookie(r *http.Request) string {
	c, err := r.Cookie(t.cookieName())
	if err != nil {
		return ""
	}
	return c.Value
}

func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Host
}

func clean(text string) string { return printable.Escape(text, 200) }

func write(w http.ResponseWriter, status int, one page) (int, string) {
	w.WriteHeader(status)
	_ = shown.Execute(w, one)
	return status, ""
}

func refuse(w http.ResponseWriter, status int, text string) (int, string) {
	text = printable.Escape(text, 500)
	write(w, status, page{Title: "mcphub", Text: text})
	return status, text
}

// redirect sends a browser on by GET.
func redirect(w http.ResponseWriter, to string) (int, string) {
	w.Header().Set("Location", to)
	w.WriteHeader(http.StatusSeeOther)
	return http.StatusSeeOther, ""
}
