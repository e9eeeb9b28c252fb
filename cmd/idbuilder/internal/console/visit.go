// SPDX-License-Identifier: Apache-2.0

package console

import (
	"bytes"
	"embed"
	"errors"
	"html/template"
	"log/slog"
	"net/http"
	"net/url"
	"runtime/debug"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/kazahana-db/kazahana/internal/idbuilder/api"
	"github.com/kazahana-db/kazahana/internal/idbuilder/idconfig"
	"github.com/kazahana-db/kazahana/internal/idbuilder/token"
)

// visit is a request that the console serves.
type visit struct {
	w http.ResponseWriter
	*http.Request
	console *Console
	id      secret
	admin   string // the admin token of the session; "" without one
}

var errNotFound = &api.Error{Code: api.NotFound, Message: "There is no such page."}

// loginQuery remembers where to go after the login.
func loginQuery(r *http.Request) url.Values {
	page := r.URL.Path[len("/admin/"):]
	if page == "" || r.Method != http.MethodGet && r.Method != http.MethodHead {
		return nil
	}
	if r.URL.RawQuery != "" {
		page += "?" + r.URL.RawQuery
	}
	return url.Values{"next": {page}}
}

// readSession finds the session, and checks that its token is still an admin token.
func (v *visit) readSession() error {
	cookie, err := v.Cookie(cookieName)
	if err != nil {
		return errNoSession
	}
	if v.id, err = parseSecret(cookie.Value); err != nil {
		return err
	}
	admin, err := v.console.sessions.adminToken(v.Context(), v.id)
	if err != nil {
		return err
	}
	identity, err := v.console.worker.Tokens().Check(v.Context(), admin)
	if errors.Is(err, token.ErrInvalid) || errors.Is(err, token.ErrExpired) || err == nil && !identity.Admin {
		return errNoSession
	}
	v.admin = admin
	return err
}

// serve serves the request. It shows an error on a page of its own.
func (v *visit) serve(serve func(*visit) error) {
	defer func() {
		if p := recover(); p != nil && p != http.ErrAbortHandler {
			v.console.options.Logger.Error("console: panic", "panic", p, "stack", string(debug.Stack()))
			v.sendError(api.Errorf(api.Internal, "Internal error; the log says more."))
		}
	}()
	if err := serve(v); err != nil {
		v.sendError(err)
	}
}

func (v *visit) sendError(err error) {
	e := v.console.worker.APIError(err)
	if e.HTTPStatus() >= http.StatusInternalServerError {
		v.console.options.Logger.Error("console: a request failed", "method", v.Method, "page", v.URL.Path, "error", err)
	}
	if v.admin == "" && e != errNotFound && e.Code != api.Unavailable {
		e = api.Errorf(e.Code, "Internal error; the log says more.")
	}
	v.render(e.HTTPStatus(), page{Name: "error", Title: http.StatusText(e.HTTPStatus()), Data: sentence(e.Message)})
}

// redirect sends the browser to a page of the console. The address is relative, since
// a prefix may come before /admin/.
func (v *visit) redirect(page string, query url.Values) {
	if len(query) > 0 {
		page += "?" + query.Encode()
	}
	v.w.Header().Set("Location", "./"+page)
	v.w.WriteHeader(http.StatusSeeOther)
}

// logAction logs an action of an admin.
func (v *visit) logAction(what, key string) {
	v.console.options.Logger.LogAttrs(v.Context(), slog.LevelInfo, "console: "+what, slog.String("key", key), slog.String("remote", v.RemoteAddr))
}

func (v *visit) refuseLogin(status int, fault string) error {
	return v.render(status, page{Name: "login", Title: "Log in", Data: loginPage{Next: v.console.nextPage(v.PostFormValue("next")), Fault: fault}})
}

// endSession ends the session of the browser's cookie, if there is one.
func (v *visit) endSession() error {
	cookie, err := v.Cookie(cookieName)
	if err != nil {
		return nil
	}
	id, err := parseSecret(cookie.Value)
	if err != nil {
		return nil
	}
	return v.console.sessions.endSession(v.Context(), id)
}

// setCookie sets the session's cookie. It has no path, so browsers send it to all pages in the
// folder of the login, whatever prefix comes before /admin/.
func (v *visit) setCookie(value string, lifetime time.Duration) {
	http.SetCookie(v.w, &http.Cookie{
		Name: cookieName, Value: value, MaxAge: int(lifetime / time.Second),
		HttpOnly: true, Secure: v.isSecure(), SameSite: http.SameSiteStrictMode,
	})
}

// isSecure reports whether the browser reaches the console by TLS: here, at a proxy that says so, or
// as the options say. The header is the proxy's or the browser's own: it cannot make the cookie of
// another browser less secure.
func (v *visit) isSecure() bool {
	return v.TLS != nil || v.console.options.SecureCookie || strings.EqualFold(v.Header.Get("X-Forwarded-Proto"), "https")
}

// toPage sends the browser to a page with its query.
func (v *visit) toPage(page string) {
	v.w.Header().Set("Location", "./"+page)
	v.w.WriteHeader(http.StatusSeeOther)
}

func (v *visit) renderAccess(t *token.Token, notice string) error {
	return v.render(http.StatusOK, page{Name: "access", Title: "Access", Section: "access", Notice: notice, Data: accessPage{token.GlobalKey, t}})
}

func (v *visit) showGlobalToken(t token.Token, err error) error {
	if err != nil {
		return err
	}
	v.logAction("showed the token for all keys", "")
	return v.renderAccess(&t, "")
}

func (v *visit) renderDelete(status int, p deletePage) error {
	return v.render(status, page{Name: "delete", Title: "Delete " + p.Config.Key, Section: "keys", Data: p})
}

// renderForm shows a form with its preview.
func (v *visit) renderForm(status int, f *form) error {
	title := "Edit " + f.Key()
	if f.New() {
		title = "New " + string(f.Type) + " key"
	}
	p, err := v.console.previewForm(v.Context(), f)
	if err != nil {
		return err
	}
	return v.render(status, page{Name: "form", Title: title, Section: "keys", Data: formPage{f, p}})
}

// readForm reads the form that the browser sent.
func (v *visit) readForm() (*form, error) {
	if err := v.ParseForm(); err != nil {
		return nil, api.Errorf(api.Invalid, "the form cannot be read, or is larger than %d bytes", maxBody)
	}
	f := &form{Type: idconfig.Type(v.PostFormValue("type")), Values: v.PostForm}
	switch f.Type {
	case idconfig.TypeIncrement, idconfig.TypeSnowflake, idconfig.TypeFormatted:
		return f, nil
	}
	return nil, api.Errorf(api.Invalid, "type: there is no type %q", f.Type)
}

func (v *visit) renderKey(status int, p keyPage, notice string) error {
	return v.render(status, page{Name: "key", Title: p.Config.Key, Section: "keys", Notice: notice, Data: p})
}

// page is the data of a page's template.
type page struct {
	Name     string // of the template
	Title    string
	Section  string // of the navigation
	Notice   string // what the action did, for people
	LoggedIn bool
	Data     any
}

// render sends a page.
func (v *visit) render(status int, p page) error {
	p.LoggedIn = v.admin != ""
	return v.executeTemplate(status, templates[p.Name], "base", p)
}

// renderFragment sends a part of a page.
func (v *visit) renderFragment(name string, data any) error {
	return v.executeTemplate(http.StatusOK, templates[""], name, data)
}

// executeTemplate sends the output of a template. If the template fails it sends none of it.
func (v *visit) executeTemplate(status int, t *template.Template, name string, data any) error {
	var b bytes.Buffer
	if err := t.ExecuteTemplate(&b, name, data); err != nil {
		v.console.options.Logger.Error("console: template", "name", name, "error", err)
		http.Error(v.w, "Internal error; the log says more.", http.StatusInternalServerError)
		return nil
	}
	v.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	v.w.WriteHeader(status)
	_, _ = b.WriteTo(v.w) // the browser may have gone
	return nil
}

//go:embed templates/*.html
var templateFiles embed.FS

// templates has the pages by name: each file except base.html and parts.html.
var templates = parseTemplates()

func parseTemplates() map[string]*template.Template {
	base := template.Must(template.New("").Funcs(functions).ParseFS(templateFiles, "templates/base.html", "templates/parts.html"))
	files, err := templateFiles.ReadDir("templates")
	if err != nil {
		panic(err) // embedded: it is there
	}
	pages := map[string]*template.Template{"": base}
	for _, f := range files {
		name := strings.TrimSuffix(f.Name(), ".html")
		pages[name] = template.Must(template.Must(base.Clone()).ParseFS(templateFiles, "templates/"+f.Name()))
	}
	return pages
}

// sentence writes a message of the API as a sentence.
func sentence(message string) string {
	first, size := utf8.DecodeRuneInString(message)
	if size == 0 {
		return ""
	}
	message = string(unicode.ToUpper(first)) + message[size:]
	if strings.HasSuffix(message, ".") {
		return message
	}
	return message + "."
}
