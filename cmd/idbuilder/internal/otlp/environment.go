// SPDX-License-Identifier: Apache-2.0

package otlp

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/kazahana-db/kazahana/internal/idbuilder/settings"
)

// target is where spans go, and how.
type target struct {
	url     *url.URL
	headers http.Header
	timeout time.Duration // of one request
	gzip    bool
	tls     *tls.Config
}

// environment reads OpenTelemetry's variables, and collects what is wrong with them.
type environment struct{ faults []settings.Fault }

// refuse notes a fault. It has no value: headers and URLs have secrets.
func (e *environment) refuse(name, reason string, args ...any) {
	e.faults = append(e.faults, settings.Fault{Key: name, Reason: fmt.Sprintf(reason, args...)})
}

// err returns all faults as an error, nil if there are none.
func (e *environment) err() error {
	if len(e.faults) == 0 {
		return nil
	}
	return &settings.Error{Faults: e.faults}
}

// variable returns the value of a variable. As OpenTelemetry says, an empty one is not set.
func variable(name string) string { return strings.TrimSpace(os.Getenv(name)) }

// option returns an option of the exporter, and the variable that it comes from: the one for
// traces comes before the one for all signals.
func option(suffix string) (name, value string) {
	const general = "OTEL_EXPORTER_OTLP_"
	if name = general + "TRACES_" + suffix; variable(name) == "" {
		name = general + suffix
	}
	return name, variable(name)
}

// wantsTraces reports whether the environment turns the export of traces on: it names an endpoint
// or the exporter, and turns neither off.
func (e *environment) wantsTraces() bool {
	const disabled, exporter = "OTEL_SDK_DISABLED", "OTEL_TRACES_EXPORTER"
	switch strings.ToLower(variable(disabled)) {
	case "true":
		return false
	case "", "false":
	default:
		e.refuse(disabled, "it must be true or false")
	}
	switch variable(exporter) {
	case "none":
		return false
	case "otlp":
		return true
	case "":
	default:
		e.refuse(exporter, "it must be otlp or none; the program has no other exporter")
	}
	_, endpoint := option("ENDPOINT")
	return endpoint != ""
}

// readTarget reads the options of the exporter.
func (e *environment) readTarget() target {
	t := target{url: e.endpoint(), timeout: e.timeout(), tls: e.tlsConfig()}
	if name, protocol := option("PROTOCOL"); protocol != "" && protocol != "http/protobuf" {
		e.refuse(name, "the program sends http/protobuf only, at most collectors to port 4318")
	}
	name, compression := option("COMPRESSION")
	switch compression {
	case "gzip":
		t.gzip = true
	case "", "none":
	default:
		e.refuse(name, "it must be gzip or none")
	}
	t.headers = e.headers()
	return t
}

// endpoint returns the URL of requests. Traces have a path of their own below the endpoint of all
// signals.
func (e *environment) endpoint() *url.URL {
	name, value := option("ENDPOINT")
	if value == "" {
		value = "http://localhost:4318"
	}
	u, err := url.Parse(value)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.Fragment != "" {
		e.refuse(name, "it must be a URL such as http://localhost:4318")
		return &url.URL{}
	}
	if !strings.Contains(name, "_TRACES_") {
		return u.JoinPath("v1", "traces")
	}
	if u.Path == "" {
		u.Path = "/"
	}
	return u
}

func (e *environment) timeout() time.Duration {
	const longest = 10 * time.Minute
	name, value := option("TIMEOUT")
	if value == "" {
		return 10 * time.Second
	}
	return time.Duration(e.number(name, value, longest.Milliseconds())) * time.Millisecond
}

// number returns a whole number from 1 to most.
func (e *environment) number(name, value string, most int64) int64 {
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil || n < 1 || n > most {
		e.refuse(name, "it must be a whole number from 1 to %d", most)
	}
	return n
}

// pair is one of a list of name=value, separated by commas, with values in percent encoding.
type pair struct{ name, value string }

func (e *environment) pairs(variable, list string) (all []pair) {
	for i, text := range strings.Split(list, ",") {
		if strings.TrimSpace(text) == "" {
			continue
		}
		name, value, ok := strings.Cut(text, "=")
		decoded, err := url.PathUnescape(strings.TrimSpace(value))
		if name = strings.TrimSpace(name); !ok || name == "" || err != nil {
			e.refuse(variable, "entry %d of the list must be name=value, the value with percent encoding", i+1)
			continue
		}
		all = append(all, pair{name, decoded})
	}
	return all
}

// headers returns the headers of requests.
func (e *environment) headers() http.Header {
	name, list := option("HEADERS")
	headers := http.Header{}
	for i, p := range e.pairs(name, list) {
		if !isToken(p.name) || strings.ContainsFunc(p.value, isControl) {
			e.refuse(name, "header %d has a name or a value that HTTP does not allow", i+1)
			continue
		}
		headers.Set(p.name, p.value)
	}
	return headers
}

// isToken reports whether a text is a token of HTTP (RFC 9110, 5.6.2).
func isToken(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool {
		letter := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
		return !letter && !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
	})
}

func isControl(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }

// tlsConfig returns the settings of HTTPS: other authorities than the system's, and the
// certificate of the client.
func (e *environment) tlsConfig() *tls.Config {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if name, file := option("CERTIFICATE"); file != "" {
		config.RootCAs = x509.NewCertPool()
		if pem, err := os.ReadFile(file); err != nil {
			e.refuse(name, "%v", err)
		} else if !config.RootCAs.AppendCertsFromPEM(pem) {
			e.refuse(name, "the file %s has no certificate in PEM form", file)
		}
	}
	name, certificate := option("CLIENT_CERTIFICATE")
	keyName, key := option("CLIENT_KEY")
	switch {
	case certificate == "" && key == "":
	case certificate == "" || key == "":
		e.refuse(name, "it needs %s, and that needs it", keyName)
	default:
		own, err := tls.LoadX509KeyPair(certificate, key)
		if err != nil {
			e.refuse(name, "%v", err)
		}
		config.Certificates = []tls.Certificate{own}
	}
	return config
}

// checkSDK checks the variables that the SDK reads itself; it would go on with a default where
// they are wrong.
func (e *environment) checkSDK() {
	e.pairs("OTEL_RESOURCE_ATTRIBUTES", variable("OTEL_RESOURCE_ATTRIBUTES"))
	for name, most := range map[string]int64{
		"OTEL_BSP_SCHEDULE_DELAY": time.Hour.Milliseconds(), "OTEL_BSP_EXPORT_TIMEOUT": time.Hour.Milliseconds(),
		"OTEL_BSP_MAX_QUEUE_SIZE": 1 << 20, "OTEL_BSP_MAX_EXPORT_BATCH_SIZE": 1 << 16,
	} {
		if value := variable(name); value != "" {
			e.number(name, value, most)
		}
	}
	e.checkSampler()
}

func (e *environment) checkSampler() {
	const sampler, argument = "OTEL_TRACES_SAMPLER", "OTEL_TRACES_SAMPLER_ARG"
	switch strings.ToLower(variable(sampler)) {
	case "", "always_on", "always_off", "parentbased_always_on", "parentbased_always_off":
	case "traceidratio", "parentbased_traceidratio":
		if err := checkRatio(variable(argument)); err != nil {
			e.refuse(argument, "%v", err)
		}
	default:
		e.refuse(sampler, "it must be always_on, always_off, traceidratio, or one of them after parentbased_")
	}
}

func checkRatio(value string) error {
	if value == "" {
		return nil // all
	}
	if ratio, err := strconv.ParseFloat(value, 64); err != nil || !(0 <= ratio && ratio <= 1) {
		return errors.New("it must be a number from 0 to 1")
	}
	return nil
}
