// SPDX-License-Identifier: Apache-2.0

// Package access keeps pages of other sites, which the user of this machine has open in a browser,
// away from servers on this machine.
//
// For a server of pages, a [Guard] decides which requests are answered: those of a browser that
// opened the link with the token, addressed to this server, from pages of its own. For a server of
// programs that asks for no token, [CheckOpen] refuses what such pages can send. For clients that
// show a token, [KeepOrigin] and [InClear] say where it may go.
//
//	guard, err := access.New(access.Options{Token: token})
//	server := &http.Server{Handler: guard.Protect(pages)}
//	fmt.Println(guard.Link("http://127.0.0.1:4711/"))
//
// # What is refused
//
// A request with another Host than a loopback address or one of Options.Hosts: a page of another
// site sends its own name, even if that name was pointed at 127.0.0.1 (DNS rebinding). A request without
// the session's cookie. A request that may change something unless its Origin is that of the Host
// that it was sent to, and its body is JSON, which forms of other sites cannot send.
//
// # The token and the cookie
//
// The link has the token. The first request with it gets a cookie with 256 random bits, HttpOnly and SameSite=Strict, and a page that leads to the same address without
// the token, which thus is in no bookmark and no Referer. A page without a session may send the token in
// the body of a request to "enter", next to the pages, so that it is in no log of addresses either. Cookies are not separated by port: the
// cookie's name tells the servers of a machine apart, and does not keep its value from them. A
// browser sends it to another port of the machine only if the user goes there from the address bar
// or from a page of this machine.
package access
