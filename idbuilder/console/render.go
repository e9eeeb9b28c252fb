// SPDX-License-Identifier: Apache-2.0

package console

import (
	"bytes"
	"embed"
	"html/template"
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"
)

//go:embed templates/*.html
var templateFiles embed.FS

// page is what a page's template is executed with.
type page struct {
	Name     string // of the template
	Title    string
	Section  string // of the navigation
	Notice   string // what was done, for people
	LoggedIn bool
	Data     any
}

// templates are the pages by name. Each file but base.html and parts.html is one.
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

// render sends a page.
func (v *visit) render(status int, p page) error {
	p.LoggedIn = v.admin != ""
	return v.execute(status, templates[p.Name], "base", p)
}

// renderFragment sends a part of a page.
func (v *visit) renderFragment(name string, data any) error {
	return v.execute(http.StatusOK, templates[""], name, data)
}

// execute sends nothing of a template that fails.
func (v *visit) execute(status int, t *template.Template, name string, data any) error {
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
