// SPDX-License-Identifier: Apache-2.0

package console

import (
	"embed"
	"html/template"
	"strings"
	"unicode"
	"unicode/utf8"
)

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
