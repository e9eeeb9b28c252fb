// SPDX-License-Identifier: Apache-2.0

package console

import (
	"errors"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/kazahana-db/kazahana/internal/idbuilder/revision"
	"github.com/kazahana-db/kazahana/internal/idbuilder/token"
)

const cookieName = "idbuilder_session"

// loginPage is the data of the login page.
type loginPage struct {
	Next  string
	Fault string
}

func (c *Console) showLogin(v *visit) error {
	return v.render(http.StatusOK, page{Name: "login", Title: "Log in", Data: loginPage{Next: c.nextPage(v.FormValue("next"))}})
}

// beginLogin begins a session, and ends the one that the browser may have. Failed attempts alone
// count for the throttle, and a valid token is accepted however many there were: the address may be
// that of a proxy, which a stranger has in common with the administrator. A token has 256 random
// bits, or is one that the operator chose and that the API checks as often as it is asked; the
// throttle bounds the log, and the work for those who guess.
func (c *Console) beginLogin(v *visit) error {
	admin := v.PostFormValue("token")
	identity, err := c.worker.Tokens().Check(v.Context(), admin)
	switch {
	case errors.Is(err, token.ErrInvalid), errors.Is(err, token.ErrExpired):
		return c.refuseAttempt(v, http.StatusUnauthorized, "That is not a valid admin token.")
	case err != nil:
		return err
	case !identity.Admin:
		return c.refuseAttempt(v, http.StatusForbidden, "That token is for a key or for workers. An admin token is needed.")
	}
	if err := v.endSession(); err != nil {
		return err
	}
	id, err := c.sessions.beginSession(v.Context(), admin)
	if err != nil {
		return err
	}
	v.setCookie(id.cookieValue(), c.options.Session)
	v.logAction("logged in", "")
	v.toPage(c.nextPage(v.PostFormValue("next")))
	return nil
}

// refuseAttempt refuses a failed attempt to log in.
func (c *Console) refuseAttempt(v *visit, status int, fault string) error {
	if wait := c.throttle.countAttempt(v.RemoteAddr, c.options.Now()); wait > 0 {
		v.w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
		return v.refuseLogin(http.StatusTooManyRequests, "There were too many attempts from your address. Wait a few seconds.")
	}
	c.options.Logger.Warn("console: refused a login", "remote", v.RemoteAddr)
	return v.refuseLogin(status, fault)
}

func (c *Console) endLogin(v *visit) error {
	if err := v.endSession(); err != nil {
		return err
	}
	v.logAction("logged out", "")
	v.setCookie("", -time.Second)
	v.redirect("login", nil)
	return nil
}

// nextPage returns the page of the console that a link names, or "" for any other
// address: the login must not lead to another site.
func (c *Console) nextPage(next string) string {
	u, err := url.Parse(next)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil {
		return ""
	}
	for _, r := range c.sessionRoutes() {
		if !r.fragment && r.pattern == "GET /admin/"+u.Path {
			return u.Path + "?" + u.RawQuery
		}
	}
	return ""
}

// accessPage is the data of the page of tokens.
type accessPage struct {
	GlobalKey string
	Token     *token.Token // that was asked for
}

func (c *Console) showAccess(v *visit) error { return v.renderAccess(nil, "") }

// resetPage asks whether to reset a token.
type resetPage struct {
	Key    string
	Global bool
}

func (c *Console) showReset(v *visit) error {
	key := v.FormValue("key")
	if key != token.GlobalKey {
		if _, _, err := c.worker.Config(v.Context(), key); err != nil {
			return err
		}
	}
	return v.render(http.StatusOK, page{Name: "reset", Title: "Reset the token", Section: "keys", Data: resetPage{key, key == token.GlobalKey}})
}

// resetNotice says that a token was reset.
const (
	resetNotice       = "The token was reset. The old one is invalid on all workers."
	unconfirmedNotice = "The token was reset, but other workers may accept the old one for a minute. Reset it again to end that."
)

// resetToken makes a new token, and shows it in this answer only.
func (c *Console) resetToken(v *visit) error {
	key := v.PostFormValue("key")
	if key != token.GlobalKey {
		if _, _, err := c.worker.Config(v.Context(), key); err != nil {
			return err
		}
	}
	t, err := c.worker.Tokens().Reset(v.Context(), v.admin, key)
	notice := resetNotice
	if errors.Is(err, revision.ErrUnconfirmed) {
		notice, err = unconfirmedNotice, nil
	}
	if err != nil {
		return err
	}
	v.logAction("reset the token", key)
	if key == token.GlobalKey {
		return v.renderAccess(&t, notice)
	}
	p, err := c.keyPage(v, key)
	if err != nil {
		return err
	}
	p.Token = &t
	return v.renderKey(http.StatusOK, p, notice)
}
