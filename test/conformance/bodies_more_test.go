package conformance

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"strconv"
	"time"
)

func (w *walk) certificateBody() object {
	o := object{"name": w.one(w.newName(), w.newName(), "n1")}
	if w.chance(50) {
		o["type"], o["dns_names"] = "lets_encrypt", []string{w.one("example.com", "*.example.com", "no domain")}
		return o
	}
	o["type"] = "custom"
	o["leaf_certificate"], o["private_key"] = w.selfSigned()
	return o
}

func (w *walk) selfSigned() (leaf, key string) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		w.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"example.com"}, NotAfter: w.clock.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		w.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		w.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}))
}

func (w *walk) vpcBody() object {
	o := object{"name": w.one(w.newName(), w.newName(), "n1"), "region": w.one("nyc3", "fra1")}
	w.maybe(o, "ip_range", fmt.Sprintf("10.%d.0.0/20", w.number(10, 20, 30, 244)))
	return o
}

func (w *walk) projectBody() object {
	o := object{"name": w.one(w.newName(), w.newName(), "n1"), "purpose": w.one("Website or blog", "mine")}
	w.maybe(o, "environment", w.one("Staging", "Production"))
	return o
}

func (w *walk) reservedBody() object {
	if id, err := strconv.Atoi(w.dropletID()); err == nil && w.chance(40) {
		return object{"droplet_id": id}
	}
	return object{"region": w.one("nyc3", "fra1")}
}

func (w *walk) assignBody() object {
	if w.chance(40) {
		return object{"type": "unassign"}
	}
	return object{"type": "assign", "droplet_id": w.membersBody()["droplet_ids"].([]int)[0]}
}

func (w *walk) keyBody() object {
	blob := append([]byte{0, 0, 0, 11}, "ssh-ed25519"...)
	blob = append(blob, byte(w.random.IntN(20)))
	return object{"name": w.newName(), "public_key": w.one("ssh-ed25519 "+base64.StdEncoding.EncodeToString(blob)+" me", "nonsense")}
}

func (w *walk) volumeBody() object {
	o := object{"name": w.one(w.newName(), "n1", "n2"), "region": "nyc3", "size_gigabytes": w.number(1, 10, 100)}
	w.maybe(o, "tags", []string{"vol"})
	w.maybe(o, "filesystem_type", "ext4")
	return o
}

func (w *walk) volumeActionBody() object {
	v := w.volume()
	switch w.random.IntN(3) {
	case 0:
		return object{"type": "resize", "size_gigabytes": v.SizeGigabytes + w.number(0, 10), "region": "nyc3"}
	case 1:
		if len(v.DropletIDs) > 0 {
			return object{"type": "detach", "droplet_id": v.DropletIDs[0]}
		}
	}
	return object{"type": w.one("attach", "detach"), "droplet_id": w.membersBody()["droplet_ids"].([]int)[0]}
}
