// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"bytes"
	"embed"
	"net/http"
	"path"
	"time"
)

//go:embed static
var static embed.FS

// contentTypes has the types of files by their endings, since the system's table may differ.
var contentTypes = map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml", ".html": "text/html; charset=utf-8"}

func servePage(w http.ResponseWriter, r *http.Request) { sendFile(w, r, "index.html") }

func serveStatic(w http.ResponseWriter, r *http.Request) { sendFile(w, r, r.PathValue("file")) }

func sendFile(w http.ResponseWriter, r *http.Request, name string) {
	content, err := static.ReadFile(path.Join("static", path.Clean("/"+name)))
	kind := contentTypes[path.Ext(name)]
	if err != nil || kind == "" {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", kind)
	http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(content))
}

// serveClosed answers requests without a session. Pages get an explanation in their own looks.
func serveClosed(w http.ResponseWriter, r *http.Request) {
	if name := path.Base(r.URL.Path); path.Base(path.Dir(r.URL.Path)) == "static" && (name == "style.css" || name == "icon.svg") {
		sendFile(w, r, name)
		return
	}
	if path.Base(path.Dir(r.URL.Path)) == "api" {
		answer(func(*http.Request) (any, error) {
			return nil, &statusError{http.StatusUnauthorized, errNoSession}
		})(w, r)
		return
	}
	content, _ := static.ReadFile("static/closed.html") // embedded: it is there
	w.Header().Set("Content-Type", contentTypes[".html"])
	w.WriteHeader(http.StatusUnauthorized)
	_, _ = w.Write(content) // the browser has gone
}
