// csi-driver is the controller's half of a CSI driver over DigitalOcean's API, for the sidecars that `make compare-volumes` runs beside
// aerostat. It asks what spec/volumes.md, §4.2, says the vendor's driver asks, and knows neither snapshots nor tags.
package main

import (
	"context"
	"flag"
	"log"
	"net"
	"os"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
)

func main() {
	socket := flag.String("socket", "", "where sidecars find it")
	url := flag.String("url", "", "where the API is")
	region := flag.String("region", "", "the region of all volumes")
	flag.Parse()
	listener, err := net.Listen("unix", *socket)
	if err != nil {
		log.Fatal(err)
	}
	driver := &controller{cloud: cloud{url: *url, token: os.Getenv("DIGITALOCEAN_ACCESS_TOKEN"), region: *region}}
	server := grpc.NewServer()
	csi.RegisterIdentityServer(server, driver)
	csi.RegisterControllerServer(server, driver)
	log.Fatal(server.Serve(listener))
}

func (it *controller) GetPluginInfo(context.Context, *csi.GetPluginInfoRequest) (*csi.GetPluginInfoResponse, error) {
	return &csi.GetPluginInfoResponse{Name: driver, VendorVersion: "v0.0.0"}, nil
}

func (it *controller) Probe(context.Context, *csi.ProbeRequest) (*csi.ProbeResponse, error) {
	return &csi.ProbeResponse{}, nil
}

func (it *controller) GetPluginCapabilities(context.Context, *csi.GetPluginCapabilitiesRequest) (*csi.GetPluginCapabilitiesResponse, error) {
	service := func(kind csi.PluginCapability_Service_Type) *csi.PluginCapability {
		return &csi.PluginCapability{Type: &csi.PluginCapability_Service_{Service: &csi.PluginCapability_Service{Type: kind}}}
	}
	online := &csi.PluginCapability_VolumeExpansion{Type: csi.PluginCapability_VolumeExpansion_ONLINE}
	return &csi.GetPluginCapabilitiesResponse{Capabilities: []*csi.PluginCapability{
		service(csi.PluginCapability_Service_CONTROLLER_SERVICE),
		service(csi.PluginCapability_Service_VOLUME_ACCESSIBILITY_CONSTRAINTS),
		{Type: &csi.PluginCapability_VolumeExpansion_{VolumeExpansion: online}},
	}}, nil
}
