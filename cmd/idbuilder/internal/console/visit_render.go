// SPDX-License-Identifier: Apache-2.0

package console

import (
	"bytes"
	"html/template"
	"net/http"

	"github.com/kazahana-db/kazahana/internal/idbuilder/api"
	"github.com/kazahana-db/kazahana/internal/idbuilder/idconfig"
	"github.com/kazahana-db/kazahana/internal/idbuilder/token"
)

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
