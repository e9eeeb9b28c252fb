// SPDX-License-Identifier: Apache-2.0

package console

import "net/http"

// route is a page or an action of the console.
type route struct {
	pattern  string // of [http.ServeMux]; the path is "/admin/" and one word, so that relative links work
	fragment bool   // a script sends the request: without a session the answer is 401, not the login page
	serve    func(*visit) error
}

// sessionRoutes are the routes that need a session.
func (c *Console) sessionRoutes() []route {
	return []route{
		{pattern: "GET /admin/{$}", serve: c.showOverview},
		{pattern: "GET /admin/keys", serve: c.showKeys},
		{pattern: "GET /admin/key", serve: c.showKey},
		{pattern: "GET /admin/new", serve: c.showNew},
		{pattern: "GET /admin/edit", serve: c.showEdit},
		{pattern: "POST /admin/save", serve: c.saveForm},
		{pattern: "POST /admin/generate", serve: c.generateIDs},
		{pattern: "GET /admin/delete", serve: c.showDelete},
		{pattern: "POST /admin/delete", serve: c.deleteKey},
		{pattern: "POST /admin/token", serve: c.showToken},
		{pattern: "GET /admin/reset", serve: c.showReset},
		{pattern: "POST /admin/reset", serve: c.resetToken},
		{pattern: "GET /admin/access", serve: c.showAccess},
		{pattern: "GET /admin/workers", serve: c.showWorkers},
		{pattern: "POST /admin/preview", serve: c.showPreview, fragment: true},
		{pattern: "GET /admin/charts", serve: c.showCharts, fragment: true},
		{pattern: "POST /admin/logout", serve: c.endLogin},
	}
}

func (c *Console) newMux() http.Handler {
	mux := http.NewServeMux()
	for _, r := range c.sessionRoutes() {
		mux.HandleFunc(r.pattern, c.withSession(r))
	}
	mux.HandleFunc("GET /admin/login", c.publicHandler(c.showLogin))
	mux.HandleFunc("POST /admin/login", c.publicHandler(c.beginLogin))
	for name, a := range assets {
		mux.HandleFunc("GET /admin/"+name, a.serveFile)
	}
	mux.HandleFunc("/", c.publicHandler(func(v *visit) error { return errNotFound }))
	return mux
}
