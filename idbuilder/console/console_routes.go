// SPDX-License-Identifier: Apache-2.0

package console

import "net/http"

// route is a page or an action of the console.
type route struct {
	pattern  string // of [http.ServeMux]; the path is "/admin/" and one word, so that relative links hold
	fragment bool   // a script asks for it: without a session the answer is 401, no login page
	serve    func(*visit) error
}

// routes are those that need a session.
func (c *Console) routes() []route {
	return []route{
		{pattern: "GET /admin/{$}", serve: c.showOverview},
		{pattern: "GET /admin/keys", serve: c.showKeys},
		{pattern: "GET /admin/key", serve: c.showKey},
		{pattern: "GET /admin/new", serve: c.showNew},
		{pattern: "GET /admin/edit", serve: c.showEdit},
		{pattern: "POST /admin/save", serve: c.save},
		{pattern: "POST /admin/generate", serve: c.generateIDs},
		{pattern: "GET /admin/delete", serve: c.showDelete},
		{pattern: "POST /admin/delete", serve: c.delete},
		{pattern: "POST /admin/token", serve: c.showToken},
		{pattern: "GET /admin/reset", serve: c.showReset},
		{pattern: "POST /admin/reset", serve: c.resetToken},
		{pattern: "GET /admin/access", serve: c.showAccess},
		{pattern: "GET /admin/workers", serve: c.showWorkers},
		{pattern: "POST /admin/preview", serve: c.preview, fragment: true},
		{pattern: "GET /admin/charts", serve: c.showCharts, fragment: true},
		{pattern: "POST /admin/logout", serve: c.logout},
	}
}

func (c *Console) mux() http.Handler {
	mux := http.NewServeMux()
	for _, r := range c.routes() {
		mux.HandleFunc(r.pattern, c.withSession(r))
	}
	mux.HandleFunc("GET /admin/login", c.publicHandler(c.showLogin))
	mux.HandleFunc("POST /admin/login", c.publicHandler(c.login))
	for name, a := range assets {
		mux.HandleFunc("GET /admin/"+name, a.serve)
	}
	mux.HandleFunc("/", c.publicHandler(func(v *visit) error { return errNotFound }))
	return mux
}
