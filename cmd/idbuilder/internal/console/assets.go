// SPDX-License-Identifier: Apache-2.0

package console

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"net/http"
	"path"
	"time"
)

//go:embed static/*
var staticFiles embed.FS

// asset is a file that pages use.
type asset struct {
	name    string
	content []byte
	version string // changes with the content
}

// contentTypes has the types of files by their endings, since the system's table may differ.
var contentTypes = map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}

// assets are the files by name.
var assets = readAssets()

func readAssets() map[string]asset {
	files, err := staticFiles.ReadDir("static")
	if err != nil {
		panic(err) // embedded: it is there
	}
	read := map[string]asset{}
	for _, f := range files {
		b, err := staticFiles.ReadFile("static/" + f.Name())
		if err != nil {
			panic(err)
		}
		h := sha256.Sum256(b)
		read[f.Name()] = asset{f.Name(), b, hex.EncodeToString(h[:6])}
	}
	return read
}

// assetURL returns the address of a file, which changes with its content.
func assetURL(name string) string { return name + "?v=" + assets[name].version }

// serveFile sends the file. Browsers may keep it if the address has its version.
func (a asset) serveFile(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", contentTypes[path.Ext(a.name)])
	if r.URL.RawQuery == "v="+a.version {
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	http.ServeContent(w, r, a.name, time.Time{}, bytes.NewReader(a.content))
}
