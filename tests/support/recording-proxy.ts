/** An HTTP proxy on loopback that notes what it is asked: absolute-form requests are answered, CONNECT is tunnelled to one port. */
import { connect, createServer, type AddressInfo, type Socket } from "node:net";

export interface RecordingProxy {
  port: number;
  /** Request lines with the decoded credentials: `GET http://a.test/ HTTP/1.1 user:pass`. */
  seen: string[];
  close(): void;
}

/** `tunnelPort` is where every CONNECT ends, whatever host was named. */
export async function startRecordingProxy(tunnelPort: number): Promise<RecordingProxy> {
  const seen: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => socket.destroy());
    socket.once("data", (data) => {
      const head = data.toString("latin1");
      seen.push(`${head.split("\r\n")[0]} ${credentialsIn(head)}`.trim());
      if (head.startsWith("CONNECT ")) tunnel(socket, tunnelPort);
      else socket.end("HTTP/1.1 200 OK\r\nContent-Length: 9\r\nConnection: close\r\n\r\nby proxy!");
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  // A TCP server that listens has an address with a port.
  const { port } = server.address() as AddressInfo;
  const close = () => {
    for (const socket of sockets) socket.destroy();
    server.close();
  };
  return { port, seen, close };
}

function credentialsIn(head: string): string {
  const encoded = /^proxy-authorization: basic (.*)$/im.exec(head)?.[1]?.trim();
  return encoded === undefined ? "" : Buffer.from(encoded, "base64").toString();
}

function tunnel(socket: Socket, port: number): void {
  const upstream = connect(port, "127.0.0.1", () => {
    socket.write("HTTP/1.1 200 OK\r\n\r\n");
    socket.pipe(upstream);
    upstream.pipe(socket);
  });
  upstream.on("error", () => socket.destroy());
  socket.on("close", () => upstream.destroy());
}
