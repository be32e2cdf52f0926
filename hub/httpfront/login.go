package httpfront

import (
	"net/http"
	"strings"
	"time"
)

// LoginPrefix is how the paths of the pages begin on which people log in at servers.
const LoginPrefix = "/login/"

// hasLoginPage reports whether a page of Login is at a path.
func (f *Front) hasLoginPage(path string) bool {
	return strings.HasPrefix(path, LoginPrefix) && f.active.Load().Login != nil
}

// serveLogin serves a page of Login. Browsers open it without a token, so the page finds out who a person is.
func (f *Front) serveLogin(w http.ResponseWriter, r *http.Request) {
	now := f.active.Load()
	if err := now.admission.CheckHost(r); err != nil {
		f.refuseAsText(w, r, http.StatusForbidden, ReasonHost, err.Error())
		return
	}
	if !f.startRequest() {
		f.refuseAsText(w, r, http.StatusServiceUnavailable, ReasonStopping, "this hub is stopping; try again in a moment")
		return
	}
	defer f.running.Done()
	if r.ContentLength != 0 { // a form of someone who has shown no token is small, and comes at once or not at all
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(headerTime))
		w.Header().Set("Connection", "close")
	}
	if status, refused := now.Login(w, r, now.admission.Whose); refused != "" {
		f.reportRejection(r, status, ReasonLogin, refused)
	}
}
