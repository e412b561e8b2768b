// Package web is the room of what the HTTP boundaries share: headers of trace
// context (w3c), bodies and answers that are watched (httpbody, served), and the
// page and API of live control (control). Requests come in from lenshttp, gym and
// the handler of live control.
package web
