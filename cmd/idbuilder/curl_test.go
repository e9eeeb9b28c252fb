// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/tls"
	"crypto/x509"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
)

// headers are the values of a flag that is repeated.
type headers []string

func (h *headers) String() string     { return strings.Join(*h, ", ") }
func (h *headers) Set(s string) error { *h = append(*h, s); return nil }

// curl is curl with the flags that the documentation uses, so that tests need no program of
// the system. With -w it writes the status before the body.
func curl() {
	var given headers
	flag.CommandLine = flag.NewFlagSet("curl", flag.ExitOnError)
	method := flag.String("X", "", "method")
	body := flag.String("d", "", "body")
	ca := flag.String("cacert", "", "file of certificates to trust")
	status := flag.Bool("w", false, "write the status")
	flag.Bool("s", true, "no progress")
	flag.Var(&given, "H", "header")
	var urls []string
	for args := os.Args[1:]; len(args) > 0; { // flags may follow the URL
		_ = flag.CommandLine.Parse(args)
		if args = flag.Args(); len(args) > 0 {
			urls, args = append(urls, args[0]), args[1:]
		}
	}
	if err := request(*method, strings.Join(urls, ""), *body, *ca, given, *status); err != nil {
		fmt.Fprintln(os.Stderr, "curl:", err)
		os.Exit(1)
	}
}

func request(method, url, body, ca string, given headers, status bool) error {
	if method == "" && body != "" {
		method = http.MethodPost
	}
	if !strings.Contains(url, "://") {
		url = "http://" + url
	}
	req, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		return err
	}
	for _, h := range given {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Add(name, value)
	}
	client, err := trusting(ca)
	if err != nil {
		return err
	}
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if status {
		fmt.Print(res.StatusCode, " ")
	}
	_, err = io.Copy(os.Stdout, res.Body)
	fmt.Println()
	return err
}

// trusting returns a client that trusts the certificates of a file.
func trusting(ca string) (*http.Client, error) {
	if ca == "" {
		return http.DefaultClient, nil
	}
	pem, err := os.ReadFile(ca)
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(pem)
	return &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: true}}, err
}
